// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/clustermodule"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/watch"
)

// creatingModuleAnnotation on a VSphereCluster records that a cluster module is about to be created, and the modules that existed
// before. A module has no name, so one that was created but not recorded can be identified only by its absence from that list.
const creatingModuleAnnotation = "faultline.io/creating-cluster-module"

// creatingModule is the value of the annotation.
type creatingModule struct {
	clustermodule.Wanted

	Before []string `json:"before,omitempty"` // modules of the compute cluster
}

// createModule records its intent, creates a module, and records the module.
func (r *Reconciler) createModule(ctx context.Context, s *scope, session *vcenter.Session, want clustermodule.Wanted) (refused, err error) {
	if pending, is := pendingModule(s.cluster); is && pending.Server != want.Server {
		return fmt.Errorf("a cluster module may have been created on another vCenter, which is unknown until %s is available: "+
			"make it available, or remove the annotation %s", cmp.Or(pending.Server, s.cluster.Spec.Server), creatingModuleAnnotation), nil
	}
	listed, refused := session.ListModules(ctx)
	if refused != nil {
		return refused, nil
	}
	if err := r.recordModuleIntent(ctx, s, creatingModule{want, in(listed, want.Compute)}); err != nil {
		return nil, err
	}
	uuid, refused := session.CreateModule(ctx, want.Compute)
	if refused != nil {
		if errors.Is(refused, vcenter.ErrForbidden) || errors.Is(refused, vcenter.ErrInvalid) || errors.Is(refused, vcenter.ErrNotFound) {
			delete(s.cluster.Annotations, creatingModuleAnnotation) // vCenter has responded that it created none
		}
		return refused, nil
	}
	r.made.Store(uuid, client.ObjectKeyFromObject(s.cluster))
	return nil, r.recordModule(ctx, s, want.Target, uuid)
}

func (r *Reconciler) recordModuleIntent(ctx context.Context, s *scope, creating creatingModule) error {
	text, err := json.Marshal(creating)
	if err != nil {
		return fmt.Errorf("recording that a cluster module is being created: %w", err)
	}
	metav1.SetMetaDataAnnotation(&s.cluster.ObjectMeta, creatingModuleAnnotation, string(text))
	return s.patch.StoreSpec(ctx, r.Client, s.cluster)
}

func (r *Reconciler) recordModule(ctx context.Context, s *scope, target clustermodule.Target, uuid string) error {
	s.cluster.Spec.ClusterModules = append(s.cluster.Spec.ClusterModules, clustermodule.Record(target, uuid))
	delete(s.cluster.Annotations, creatingModuleAnnotation)
	return s.patch.ApplySpec(ctx, r.Client, s.cluster)
}

// resumeModule records the module that was created before a crash, or in a call whose response was lost: the only module of its
// compute cluster that did not exist before, has no members and is not recorded elsewhere.
func (r *Reconciler) resumeModule(ctx context.Context, s *scope, server string, session *vcenter.Session) (refused, err error) {
	creating, is := pendingModule(s.cluster)
	switch {
	case !is:
		delete(s.cluster.Annotations, creatingModuleAnnotation) // written by another client; ignored
		return nil, nil
	case creating.Server != server:
		return nil, nil
	}
	listed, refused := session.ListModules(ctx)
	if refused != nil {
		return refused, nil
	}
	others, err := r.modulesOf(ctx, func(*infrav1.VSphereCluster) bool { return true })
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(in(listed, creating.Compute), func(uuid string) bool {
		maker, made := r.made.Load(uuid)
		if slices.Contains(creating.Before, uuid) || others[uuid] || made && maker != client.ObjectKeyFromObject(s.cluster) {
			return true
		}
		members, err := session.ModuleMembers(ctx, uuid)
		refused = errors.Join(refused, err)
		return len(members) > 0
	})
	if refused != nil {
		return refused, nil // modules that cannot be read cannot be ruled out
	}
	return nil, r.recordFound(ctx, s, creating.Target, found)
}

// pendingModule returns the module that is about to be created.
func pendingModule(cluster *infrav1.VSphereCluster) (creating creatingModule, is bool) {
	text := cluster.Annotations[creatingModuleAnnotation]
	return creating, text != "" && json.Unmarshal([]byte(text), &creating) == nil
}

// recordFound records the module if there is exactly one candidate.
func (r *Reconciler) recordFound(ctx context.Context, s *scope, target clustermodule.Target, found []string) error {
	if len(found) == 1 {
		return r.recordModule(ctx, s, target, found[0])
	}
	if len(found) > 1 {
		ctrl.LoggerFrom(ctx).Info("Found several cluster modules that may have been created for this cluster, leaving all unchanged", "modules", strings.Join(found, ", "))
	}
	delete(s.cluster.Annotations, creatingModuleAnnotation)
	return nil
}

// in returns the modules of a compute cluster.
func in(listed map[string]string, compute string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(listed)), func(uuid string) bool { return listed[uuid] != compute })
}

// dropModulesOfOthers removes modules from the spec that an older VSphereCluster has, too: the newer one is a copy of its
// YAML, and does not own them.
func (r *Reconciler) dropModulesOfOthers(ctx context.Context, s *scope) error {
	if len(s.cluster.Spec.ClusterModules) == 0 {
		return nil
	}
	others, err := r.modulesOf(ctx, func(other *infrav1.VSphereCluster) bool { return precedes(other, s.cluster) })
	if err != nil {
		return err
	}
	s.cluster.Spec.ClusterModules = slices.DeleteFunc(slices.Clone(s.cluster.Spec.ClusterModules), func(m infrav1.ClusterModule) bool {
		return others[m.ModuleUUID]
	})
	return nil
}

// precedes reports whether VSphereCluster a is older than b.
func precedes(a, b *infrav1.VSphereCluster) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}

// deleteModule deletes a module unless it has machines of another owner, which may be in another management cluster.
func (r *Reconciler) deleteModule(ctx context.Context, s *scope, server string, session *vcenter.Session, uuid string) error {
	members, err := session.ModuleMembers(ctx, uuid)
	if err != nil && !errors.Is(err, vcenter.ErrNotFound) {
		return err
	}
	vms := &infrav1.VSphereVMList{}
	if err := r.Client.List(ctx, vms, watch.OfInfrastructure(s.cluster), client.UnsafeDisableDeepCopy); err != nil { // read-only
		return fmt.Errorf("listing VSphereVMs: %w", err)
	}
	own := map[string]bool{}
	for i := range vms.Items {
		if clustermodule.ServerOf(s.cluster, vms.Items[i].Spec.Server) == server { // vCenters have equal references
			own[vms.Items[i].Status.VMRef] = true
		}
	}
	for _, member := range members {
		if !own[member] {
			ctrl.LoggerFrom(ctx).Info("Cluster module contains virtual machines of other owners, not deleting it", "module", uuid, "virtualMachine", member)
			return nil
		}
	}
	return session.DeleteModule(ctx, uuid)
}

// modulesOf returns the modules of the chosen VSphereClusters.
func (r *Reconciler) modulesOf(ctx context.Context, chosen func(*infrav1.VSphereCluster) bool) (map[string]bool, error) {
	list := &infrav1.VSphereClusterList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // read-only
		return nil, fmt.Errorf("listing VSphereClusters: %w", err)
	}
	recorded := map[string]bool{}
	for i := range list.Items {
		if !chosen(&list.Items[i]) {
			continue
		}
		for _, module := range list.Items[i].Spec.ClusterModules {
			recorded[module.ModuleUUID] = true
		}
	}
	return recorded, nil
}
