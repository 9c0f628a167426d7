// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	v1beta1conditions "sigs.k8s.io/cluster-api/util/conditions/deprecated/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// observed is a snapshot with the Machines from which it was taken, so that they can be written with the resourceVersions at
// which they were read.
type observed struct {
	Snapshot
	infra    provider.Cluster
	machines []clusterv1.Machine
}

// source reads either from caches or from the API server.
type source struct {
	client.Reader
	// controlPlanes reads control planes of any kind.
	controlPlanes client.Reader
}

// observe takes a snapshot. It returns nil for a Cluster that is paused or that another manager is responsible for. If it cannot
// read the control plane, it returns the error and a snapshot that contains it.
func (r *Reconciler) observe(ctx context.Context, from source, key client.ObjectKey) (*observed, error) {
	cluster, err := reconcile.Find(ctx, from, key, &clusterv1.Cluster{})
	if err != nil {
		return nil, err
	}
	infra, err := r.infrastructureOf(ctx, from, cluster)
	if err != nil || !r.ours(cluster, infra) {
		return nil, err
	}
	o := &observed{Snapshot: Snapshot{Cluster: Cluster{Name: key.Name, Leaving: isDeleted(cluster) || isDeleted(infra)}}}
	if infra != nil {
		o.infra = infra
		wanted, _ := infra.Distribution()
		o.Wanted = wanted.ProtectsQuorum()
	}
	if err := r.observeMachines(ctx, from, key, o); err != nil {
		return nil, err
	}
	if cluster == nil {
		if err := r.dropMachinesOfOthers(ctx, from, o); err != nil {
			return nil, err
		}
	}
	if !o.Wanted || o.Cluster.Leaving {
		return o, nil
	}
	if o.ControlPlane, err = r.observeControlPlane(ctx, from, cluster); err != nil {
		o.Problem = fmt.Sprintf("machines are not protected, because %s cannot be read: allow the manager to get, list and watch its kind: %s", o.ControlPlane.Name, err)
	}
	return o, err
}

// isDeleted reports whether an object is being deleted or does not exist.
func isDeleted[T interface {
	client.Object
	comparable
}](object T) bool {
	var none T
	return object == none || !object.GetDeletionTimestamp().IsZero()
}

// infrastructureOf returns the infrastructure cluster of a Cluster; nil if none exists, or if it belongs to another provider.
func (r *Reconciler) infrastructureOf(ctx context.Context, reader client.Reader, cluster *clusterv1.Cluster) (provider.Cluster, error) {
	if cluster == nil || cluster.Spec.InfrastructureRef.GroupKind() != r.clusterKind {
		return nil, nil
	}
	return reconcile.Find(ctx, reader, client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}, r.Provider.NewCluster())
}

// ours reports whether this manager is responsible for the hooks of a Cluster. If the Cluster no longer exists, that depends on
// its Machines.
func (r *Reconciler) ours(cluster *clusterv1.Cluster, infra provider.Cluster) bool {
	switch {
	case cluster == nil:
		return true
	case cluster.Spec.InfrastructureRef.GroupKind() != r.clusterKind:
		return false
	case infra == nil:
		return r.filter.Passes(cluster) && !annotations.IsPaused(cluster, cluster)
	}
	return r.filter.Passes(infra) && !annotations.IsPaused(cluster, infra)
}

// observeMachines reads the control-plane Machines.
func (r *Reconciler) observeMachines(ctx context.Context, reader client.Reader, cluster client.ObjectKey, o *observed) error {
	list, err := machines.OfControlPlane(ctx, reader, cluster)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Spec.InfrastructureRef.GroupKind() == r.machineKind {
			o.machines = append(o.machines, list[i])
			o.Machines = append(o.Machines, machineOf(&list[i]))
		}
	}
	return nil
}

// dropMachinesOfOthers drops Machines of a Cluster that no longer exists whose infrastructure machines another manager is responsible for.
func (r *Reconciler) dropMachinesOfOthers(ctx context.Context, reader client.Reader, o *observed) error {
	if r.filter == "" {
		return nil
	}
	all := o.machines
	o.machines, o.Machines = nil, nil
	for i := range all {
		key := client.ObjectKey{Namespace: all[i].Namespace, Name: all[i].Spec.InfrastructureRef.Name}
		infra, err := reconcile.Find(ctx, reader, key, r.Provider.NewMachine())
		if err != nil {
			return err
		}
		if infra == nil || r.filter.Passes(infra) { // without one, no other manager is responsible
			o.machines, o.Machines = append(o.machines, all[i]), append(o.Machines, machineOf(&all[i]))
		}
	}
	return nil
}

// observeControlPlane reads the fields of the control plane that Cluster API's contract defines for every kind, and whether it
// protects its quorum itself.
func (r *Reconciler) observeControlPlane(ctx context.Context, from source, cluster *clusterv1.Cluster) (ControlPlane, error) {
	ref := cluster.Spec.ControlPlaneRef
	if !ref.IsDefined() {
		return ControlPlane{}, nil
	}
	cp := ControlPlane{Name: nameOf(ref.GroupKind(), ref.Name)}
	kind := machines.ControlPlaneKindOf(ref.GroupKind())
	if cp.ProtectsQuorum = kind != nil && kind.ProtectsQuorum(nil); cp.ProtectsQuorum {
		return cp, nil
	}
	mapping, err := r.Client.RESTMapper().RESTMapping(ref.GroupKind())
	switch {
	case meta.IsNoMatchError(err): // the CRD was deleted, so the object was too
		cp.Leaving = true
		return cp, nil
	case err != nil:
		return cp, fmt.Errorf("finding the version of %s: %w", cp.Name, err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := r.follow(ctx, cluster.Namespace, object); err != nil {
		return cp, err
	}
	object, err = reconcile.Find(ctx, from.controlPlanes, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, object)
	if err != nil {
		return cp, err
	}
	if cp.Leaving = isDeleted(object); !cp.Leaving {
		cp.ProtectsQuorum = kind != nil && kind.ProtectsQuorum(object)
		cp.Replicas, err = replicasOf(object)
	}
	return cp, err
}

func replicasOf(object *unstructured.Unstructured) (*int, error) {
	replicas, found, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
	if err != nil || !found {
		return nil, err
	}
	count := int(replicas)
	return &count, nil
}

// nameOf returns the form in which control planes and owners are compared and reported.
func nameOf(kind schema.GroupKind, name string) string {
	return kind.Kind + "." + kind.Group + " " + name
}

// machineOf returns the relevant state of a Machine.
func machineOf(machine *clusterv1.Machine) Machine {
	m := Machine{
		Name: machine.Name, Owner: ownerOf(machine), OthersHook: hookOfOthers(machine),
		Waiting: conditions.GetReason(machine, clusterv1.MachineDeletingCondition) == clusterv1.MachineDeletingWaitingForPreTerminateHookReason,
		HasNode: machine.Status.NodeRef.IsDefined(), NodeReady: conditions.IsTrue(machine, clusterv1.MachineNodeReadyCondition),
		Failing: machines.Unhealthy(machine), Etcd: etcdOf(machine),
	}
	m.Why, m.Hooked = machine.Annotations[faultlinev1.QuorumHookAnnotation]
	if !machine.DeletionTimestamp.IsZero() {
		m.Deleted = machine.DeletionTimestamp.UTC()
	}
	return m
}

func ownerOf(machine *clusterv1.Machine) string {
	ref := metav1.GetControllerOf(machine)
	if ref == nil {
		return ""
	}
	return nameOf(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind(), ref.Name)
}

// hookOfOthers returns the first pre-terminate hook of another controller.
func hookOfOthers(machine *clusterv1.Machine) string {
	var others []string
	for key := range machine.Annotations {
		if key != faultlinev1.QuorumHookAnnotation && strings.HasPrefix(key, clusterv1.PreTerminateDeleteHookAnnotationPrefix) {
			others = append(others, key)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return slices.Min(others)
}

// etcdOf returns the state in the EtcdMemberHealthy condition, which control planes share by convention, in either format of a
// Machine's conditions.
func etcdOf(machine *clusterv1.Machine) Etcd {
	const condition = controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition
	switch {
	case conditions.Has(machine, condition):
		if conditions.IsTrue(machine, condition) {
			return Voting
		}
		return NotVoting
	case v1beta1conditions.Has(machine, condition):
		if v1beta1conditions.IsTrue(machine, condition) {
			return Voting
		}
		return NotVoting
	}
	return Unreported
}
