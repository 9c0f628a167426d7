// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/clustermodule"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

// moduleRetry is the retry interval after vCenter has rejected an operation on cluster modules, as no event reports a change.
const moduleRetry = time.Minute

// modulePrivilege is named in messages because vCenter does not report which privilege is missing.
const modulePrivilege = "the privilege \"Modify cluster\" (Host.Inventory.EditCluster) on the compute cluster"

// errTooOld means that a vCenter has no cluster modules.
var errTooOld = errors.New("cluster modules require 7")

// ensureModules ensures a cluster module for the machines of each target in each compute cluster of each vCenter that is
// available. Problems are reported in the condition only and block nothing else.
func (r *Reconciler) ensureModules(ctx context.Context, s *scope) (again time.Duration, err error) {
	off := ptr.Deref(s.cluster.Spec.DisableClusterModule, false)
	if !r.ClusterModules || off && len(s.cluster.Spec.ClusterModules) == 0 && s.cluster.Annotations[creatingModuleAnnotation] == "" {
		reportNoModules(s.cluster)
		return 0, nil
	}
	refused, _, err := r.eachServer(ctx, s, func(server string, session *vcenter.Session) (refused, err error) {
		if refused, err = r.ensureModulesOn(ctx, s, server, session, off); err != nil {
			return nil, err
		}
		if refused != nil && !errors.Is(refused, errTooOld) { // an upgrade ends the session
			again = moduleRetry
		}
		if known := clustermodule.StatusOf(s.cluster, server); known != nil {
			meta.SetStatusCondition(&known.Conditions, modulesReady(refused))
		}
		return refused, nil
	})
	switch {
	case err != nil:
		return 0, err
	case refused == nil && off:
		reportNoModules(s.cluster)
	default:
		conditions.Set(s.cluster, modulesReady(refused))
	}
	return again, nil
}

// ensureModulesOn ensures the modules of one vCenter, none if off.
func (r *Reconciler) ensureModulesOn(ctx context.Context, s *scope, server string, session *vcenter.Session, off bool) (refused, err error) {
	if !session.HasModules() {
		return fmt.Errorf("vCenter %s has version %s, but %w: upgrade it, or set spec.disableClusterModule", cmp.Or(server, s.cluster.Spec.Server), session.Version(), errTooOld), nil
	}
	if off {
		return r.reconcileModules(ctx, s, server, session, moduleNeeds{})
	}
	needs, err := r.moduleNeeds(ctx, s, server, session)
	if err != nil {
		return nil, err
	}
	return r.reconcileModules(ctx, s, server, session, needs)
}

func reportNoModules(cluster *infrav1.VSphereCluster) {
	conditions.Delete(cluster, infrav1.VSphereClusterClusterModulesReadyCondition)
	for i := range cluster.Status.Servers {
		meta.RemoveStatusCondition(&cluster.Status.Servers[i].Conditions, infrav1.VSphereClusterClusterModulesReadyCondition)
	}
}

// eachServer calls f for each vCenter with modules of the cluster that is available. It joins what vCenters rejected, and why
// others are not available.
func (r *Reconciler) eachServer(
	ctx context.Context, s *scope, f func(server string, session *vcenter.Session) (refused, err error),
) (refused, unavailable, err error) {
	if err := r.dropModulesOfOthers(ctx, s); err != nil {
		return nil, nil, err
	}
	s.cluster.Spec.ClusterModules = clustermodule.Relative(s.cluster, s.cluster.Spec.ClusterModules)
	servers := clustermodule.Servers(s.cluster)
	if pending, is := pendingModule(s.cluster); is && !slices.Contains(servers, pending.Server) {
		servers = append(servers, pending.Server)
	}
	for _, server := range servers {
		session, err := r.VCenters.ForServer(ctx, s.cluster, cmp.Or(server, s.cluster.Spec.Server))
		if err != nil {
			if !connection.Waits(err) {
				return nil, nil, err
			}
			unavailable = errors.Join(unavailable, err)
			continue
		}
		no, err := f(server, session)
		if err != nil {
			return nil, nil, err
		}
		refused = errors.Join(refused, no)
	}
	return refused, unavailable, nil
}

// modulesReady returns the condition ClusterModulesReady, of the cluster or of one of its vCenters.
func modulesReady(refused error) metav1.Condition {
	if refused == nil {
		return metav1.Condition{
			Type: infrav1.VSphereClusterClusterModulesReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.VSphereClusterClusterModulesReadyReason,
		}
	}
	reason, message := infrav1.VSphereClusterClusterModulesNotReadyReason, strings.ReplaceAll(refused.Error(), "\n", "; ")
	switch {
	case errors.Is(refused, vcenter.ErrForbidden):
		message += ": give the account " + modulePrivilege + ", or set spec.disableClusterModule"
	case errors.Is(refused, errTooOld):
		reason = infrav1.VSphereClusterModulesInvalidVCenterVersionReason
	}
	return metav1.Condition{
		Type: infrav1.VSphereClusterClusterModulesReadyCondition, Status: metav1.ConditionFalse, Reason: reason, Message: connection.Bounded(message),
	}
}

// moduleNeeds has the owners that may have modules on a server, and the modules that their machines need there.
type moduleNeeds struct {
	targets []clustermodule.Target
	wanted  []clustermodule.Wanted
}

func (r *Reconciler) moduleNeeds(ctx context.Context, s *scope, server string, session *vcenter.Session) (moduleNeeds, error) {
	needs := moduleNeeds{}
	if !uses(s.cluster, server) {
		return needs, nil
	}
	controlPlane := s.owner.Spec.ControlPlaneRef.Name
	if controlPlane != "" {
		needs.targets = append(needs.targets, clustermodule.Target{ControlPlane: true, Name: controlPlane, Server: server})
	}
	deployments, vms := &clusterv1.MachineDeploymentList{}, &infrav1.VSphereVMList{}
	ours := watch.OfInfrastructure(s.cluster)
	for _, list := range []client.ObjectList{deployments, vms} {
		if err := r.Client.List(ctx, list, ours, client.UnsafeDisableDeepCopy); err != nil { // read-only
			return needs, fmt.Errorf("listing owners of cluster modules: %w", err)
		}
	}
	for i := range deployments.Items {
		needs.targets = append(needs.targets, clustermodule.Target{Name: deployments.Items[i].Name, Server: server})
	}
	for i := range vms.Items {
		target, has := clustermodule.TargetOf(&vms.Items[i], s.cluster, controlPlane)
		if compute := computeOf(&vms.Items[i], session); has && target.Server == server && compute != "" {
			needs.wanted = append(needs.wanted, clustermodule.Wanted{Target: target, Compute: compute})
		}
	}
	return needs, nil
}

// computeOf returns the compute cluster of a virtual machine; "" if it does not exist there, or is being deleted.
func computeOf(vm *infrav1.VSphereVM, session *vcenter.Session) string {
	if !vm.DeletionTimestamp.IsZero() || vm.Status.VMRef == "" {
		return ""
	}
	seen, _ := session.VMByRef(vm.Status.VMRef)
	return seen.ClusterRef
}

// uses reports whether the cluster uses the server of modules.
func uses(cluster *infrav1.VSphereCluster, server string) bool {
	return slices.ContainsFunc(cluster.Spec.Servers(), func(own string) bool { return clustermodule.ServerOf(cluster, own) == server })
}

// reconcileModules creates missing modules of a server and deletes unused ones. It returns what vCenter rejected separately from
// other errors.
func (r *Reconciler) reconcileModules(
	ctx context.Context, s *scope, server string, session *vcenter.Session, needs moduleNeeds,
) (refused, err error) {
	if refused, err := r.resumeModule(ctx, s, server, session); refused != nil || err != nil {
		return refused, err
	}
	recorded, others := clustermodule.On(server, s.cluster.Spec.ClusterModules)
	if len(recorded)+len(needs.wanted) == 0 {
		return nil, nil
	}
	recorded, where, refused := presentModules(ctx, session, recorded)
	if refused != nil {
		return refused, nil
	}
	plan := clustermodule.Decide(recorded, needs.targets, needs.wanted, where)
	s.cluster.Spec.ClusterModules = append(others, plan.Keep...)
	for _, module := range plan.Remove {
		if err := r.deleteModule(ctx, s, server, session, module.ModuleUUID); err != nil {
			refused = errors.Join(refused, err)
			s.cluster.Spec.ClusterModules = append(s.cluster.Spec.ClusterModules, module) // keep it recorded
		}
	}
	for _, want := range plan.Create {
		no, err := r.createModule(ctx, s, session, want)
		if err != nil {
			return nil, err
		}
		refused = errors.Join(refused, no)
	}
	return refused, nil
}

// presentModules returns the recorded modules of a vCenter without those that it reports as not found: that an account cannot
// see a module does not prove that it is gone. It makes no call if all recorded modules are cached.
func presentModules(ctx context.Context, session *vcenter.Session, recorded []infrav1.ClusterModule) ([]infrav1.ClusterModule, clustermodule.Where, error) {
	var uuids []string
	for _, module := range recorded {
		uuids = append(uuids, module.ModuleUUID)
	}
	where, err := session.Modules(ctx, uuids...)
	if err != nil {
		return nil, nil, err
	}
	var present []infrav1.ClusterModule
	for _, module := range recorded {
		if where[module.ModuleUUID] == "" {
			if _, err := session.ModuleMembers(ctx, module.ModuleUUID); errors.Is(err, vcenter.ErrNotFound) {
				continue
			} else if err != nil {
				return nil, nil, err
			}
		}
		present = append(present, module)
	}
	return present, where, nil
}

// removeModules deletes the modules of a cluster in deletion, including those created by another manager. It waits for vCenter,
// because nothing else would ever delete them.
func (r *Reconciler) removeModules(ctx context.Context, s *scope) (again time.Duration, done bool, err error) {
	if err := r.dropModulesOfOthers(ctx, s); err != nil {
		return 0, false, err
	}
	if len(s.cluster.Spec.ClusterModules) == 0 && s.cluster.Annotations[creatingModuleAnnotation] == "" {
		return 0, true, nil
	}
	refused, unavailable, err := r.eachServer(ctx, s, func(server string, session *vcenter.Session) (refused, err error) {
		return r.reconcileModules(ctx, s, server, session, moduleNeeds{})
	})
	switch {
	case err != nil:
		return 0, false, err
	case refused != nil:
		status.False(s.cluster, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesDeletingReason, fmt.Sprintf(
			"Cluster modules cannot be deleted: %v: give the account %s, or remove them from spec.clusterModules and delete them manually", refused, modulePrivilege))
		return moduleRetry, false, nil
	case len(s.cluster.Spec.ClusterModules) == 0 && s.cluster.Annotations[creatingModuleAnnotation] == "":
		return 0, true, nil // an unavailable vCenter has none
	case unavailable != nil:
		status.False(s.cluster, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesDeletingReason, fmt.Sprintf(
			"Cluster modules cannot be deleted: %v: make vCenter available, or remove them from spec.clusterModules%s and delete them manually", unavailable, pendingAdvice(s.cluster)))
		return connection.RetryAfter(unavailable), false, nil
	}
	return 0, true, nil
}

// pendingAdvice completes the advice for a module that may have been created, but is not recorded.
func pendingAdvice(cluster *infrav1.VSphereCluster) string {
	if _, is := pendingModule(cluster); !is {
		return ""
	}
	return ", remove the annotation " + creatingModuleAnnotation
}

// ownerChanged passes VSphereVMs whose owner label was added or changed, as it is for those created by upstream. Running
// machines wait for nothing.
func ownerChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetLabels()[clusterv1.MachineDeploymentNameLabel] != e.ObjectNew.GetLabels()[clusterv1.MachineDeploymentNameLabel]
		},
	}
}

func waitsForModule(vm *infrav1.VSphereVM) string {
	reason := conditions.GetReason(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition)
	if reason != infrav1.VSphereVMVirtualMachineWaitingForClusterModuleReason {
		return ""
	}
	return reason
}
