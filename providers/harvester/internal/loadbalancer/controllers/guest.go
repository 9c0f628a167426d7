// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// VirtualMachineReconciler deletes the load balancers of a guest cluster that is being removed, after its machines, because its cloud
// provider no longer runs. It needs no finalizer on virtual machines for that, and removes those that Harvester's load balancer has added
// earlier. It reads only the metadata of virtual machines.
type VirtualMachineReconciler struct {
	Client client.Client
	// Filter ignores load balancers of other managers.
	Filter   watch.Filter
	Recorder events.EventRecorder

	marks patch.Repeats
}

// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile deletes the load balancers of the machine's guest cluster after the machine, if the cluster is being removed and the machine
// is the last one: any machine may announce their addresses while it runs. The load balancers are marked as soon as the machine shows the
// removal, because a deleted machine cannot be read any more.
func (m *VirtualMachineReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	vm, err := reconcile.Find(ctx, m.Client, req.NamespacedName, machine())
	if err != nil {
		return ctrl.Result{}, err
	}
	if vm == nil {
		err = m.remove(ctx, req.NamespacedName)
	} else if err = m.mark(ctx, vm); err == nil {
		err = m.recordMachines(ctx, vm)
	}
	if err == nil && vm != nil && m.Filter.Passes(vm) && controllerutil.RemoveFinalizer(vm, lbv1.VMFinalizer) {
		err = removeFinalizer(ctx, m.Client, vm, lbv1.VMFinalizer)
	}
	return reconcile.Outcome(ctrl.Result{}, err)
}

// machine returns an empty object for the metadata of a machine.
func machine() *metav1.PartialObjectMetadata {
	vm := &metav1.PartialObjectMetadata{}
	vm.SetGroupVersionKind(kubevirtv1.VirtualMachineGroupVersionKind)
	return vm
}

// clusterOf returns the guest cluster of a machine created by Rancher, or "".
func clusterOf(vm client.Object) string {
	if vm.GetLabels()[lbv1.CreatorLabel] != lbv1.RancherCreator {
		return ""
	}
	return vm.GetLabels()[lbv1.MachineClusterLabel]
}

// isBeingRemoved reports whether a machine belongs to a guest cluster that is being removed.
func isBeingRemoved(vm client.Object) bool {
	return clusterOf(vm) != "" && vm.GetAnnotations()[lbv1.RemovalAnnotation] == "true"
}

// remove deletes the load balancers marked with a deleted machine. If the cluster has other machines, it marks them with one of those.
func (m *VirtualMachineReconciler) remove(ctx context.Context, key client.ObjectKey) error {
	going, err := m.balancers(ctx, key.Namespace, client.MatchingFields{goesWithField: key.Name})
	if err != nil {
		return err
	}
	for i := range going {
		lb := &going[i]
		if !lb.DeletionTimestamp.IsZero() {
			continue
		}
		last, next, err := m.left(ctx, lb)
		if err == nil && last && guestClusterOf(lb) != "" {
			err = client.IgnoreNotFound(m.Client.Delete(ctx, lb, client.Preconditions{UID: &lb.UID}))
		} else if err == nil {
			err = m.markWith(ctx, lb, next)
		}
		if err != nil {
			return fmt.Errorf("deleting load balancer %s of a removed guest cluster: %w", lb.Name, err)
		}
	}
	return nil
}

// left reports whether a load balancer's cluster has no machine any more. Otherwise it returns the machine to mark it with, or "" if none
// is being removed.
func (m *VirtualMachineReconciler) left(ctx context.Context, lb *lbv1.LoadBalancer) (last bool, next string, _ error) {
	machines, err := machinesOf(ctx, m.Client, lb)
	if err != nil {
		return false, "", err
	}
	for i := range machines {
		if vm := &machines[i]; isBeingRemoved(vm) && (next == "" || vm.Name < next) {
			next = vm.Name
		}
	}
	return len(machines) == 0, next, nil
}

// machinesOf returns the cached machines of a load balancer's guest cluster in its namespace.
func machinesOf(ctx context.Context, known client.Reader, lb *lbv1.LoadBalancer) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kubevirtv1.VirtualMachineGroupVersionKind.GroupVersion().WithKind("VirtualMachineList"))
	if err := known.List(ctx, list, client.InNamespace(lb.Namespace), client.MatchingFields{clusterField: guestClusterOf(lb)}); err != nil {
		return nil, fmt.Errorf("listing machines of guest cluster %s: %w", guestClusterOf(lb), err)
	}
	return list.Items, nil
}

// mark updates the marks of the load balancers of the machine's guest cluster.
func (m *VirtualMachineReconciler) mark(ctx context.Context, vm *metav1.PartialObjectMetadata) error {
	by, wanted := client.MatchingFields{goesWithField: vm.Name}, ""
	if isBeingRemoved(vm) {
		by, wanted = client.MatchingFields{clusterField: clusterOf(vm)}, vm.Name
	}
	all, err := m.balancers(ctx, vm.Namespace, by)
	if err != nil {
		return err
	}
	for i := range all {
		lb := &all[i]
		if has := lb.Annotations[lbv1.GoesWithAnnotation]; has == wanted || wanted != "" && has != "" {
			continue // another machine of the cluster is marked
		}
		if err := m.markWith(ctx, lb, wanted); err != nil {
			return err
		}
	}
	return nil
}

// markWith marks a load balancer with a machine; "" removes the mark.
func (m *VirtualMachineReconciler) markWith(ctx context.Context, lb *lbv1.LoadBalancer, name string) error {
	before := lb.DeepCopy()
	metav1.SetMetaDataAnnotation(&lb.ObjectMeta, lbv1.GoesWithAnnotation, name)
	if name == "" {
		delete(lb.Annotations, lbv1.GoesWithAnnotation)
	}
	return m.write(ctx, before, lb)
}

// write stores a mark on a load balancer, and records an event if another client reverts it.
func (m *VirtualMachineReconciler) write(ctx context.Context, before, lb *lbv1.LoadBalancer) error {
	err := m.marks.Write(ctx, m.Client, before, lb)
	if undone, news := patch.ReportableError(err); news {
		m.Recorder.Eventf(lb, nil, corev1.EventTypeWarning, faultlinev1.ReasonAnnotationsRemoved, "Mark", "%s", undone)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("marking load balancer %s: %w", lb.Name, err)
	}
	return nil
}

func (m *VirtualMachineReconciler) balancers(ctx context.Context, namespace string, by client.MatchingFields) ([]lbv1.LoadBalancer, error) {
	list := &lbv1.LoadBalancerList{}
	if err := m.Client.List(ctx, list, client.InNamespace(namespace), by); err != nil {
		return nil, fmt.Errorf("listing load balancers: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(lb lbv1.LoadBalancer) bool { return !m.Filter.Passes(&lb) }), nil
}

// removeFinalizer stores the removal of a finalizer.
func removeFinalizer(ctx context.Context, c client.Client, without client.Object, finalizer string) error {
	before := without.DeepCopyObject().(client.Object)
	controllerutil.AddFinalizer(before, finalizer)
	err := c.Patch(ctx, without, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing finalizer %s: %w", finalizer, err)
	}
	return nil
}

// InstanceReconciler reconciles instances of virtual machines.
type InstanceReconciler struct {
	Client client.Client
}

// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachineinstances,verbs=get;list;watch;patch

// Reconcile removes the finalizer that Harvester's load balancer has added to every instance.
func (i *InstanceReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	vmi, err := reconcile.Find(ctx, i.Client, req.NamespacedName, &kubevirtv1.VirtualMachineInstance{})
	if err != nil || vmi == nil || !controllerutil.RemoveFinalizer(vmi, lbv1.VMIFinalizer) {
		return ctrl.Result{}, err
	}
	return reconcile.Outcome(ctrl.Result{}, removeFinalizer(ctx, i.Client, vmi, lbv1.VMIFinalizer))
}
