// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/watch"
)

// Index fields.
const (
	// clusterField is the guest cluster of a machine, or of a load balancer for a guest cluster.
	clusterField = "guestCluster"
	// goesWithField is the machine that a load balancer is marked with.
	goesWithField = "goesWith"
)

// SetupGuestsWithManager adds the controllers of virtual machines and their instances.
func SetupGuestsWithManager(ctx context.Context, mgr ctrl.Manager, filter watch.Filter, options controller.Options) error {
	m := &VirtualMachineReconciler{Client: mgr.GetClient(), Filter: filter, Recorder: manager.Recorder(mgr, "loadbalancer-virtualmachine")}
	if err := m.setup(ctx, mgr, options); err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(mgr).Named("loadbalancer-guestcluster").
		For(&lbv1.LoadBalancer{}, builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(e event.CreateEvent) bool {
				return filter.Passes(e.Object) && mayBeOrphan(e.Object.(*lbv1.LoadBalancer))
			},
			UpdateFunc:  func(event.UpdateEvent) bool { return false },
			DeleteFunc:  func(event.DeleteEvent) bool { return false },
			GenericFunc: func(event.GenericEvent) bool { return false },
		})).
		WithOptions(options).
		Complete(&OrphanReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("loadbalancer-virtualmachineinstance").
		For(&kubevirtv1.VirtualMachineInstance{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool {
			return filter.Passes(o) && controllerutil.ContainsFinalizer(o, lbv1.VMIFinalizer)
		}))).
		WithOptions(options).
		Complete(&InstanceReconciler{Client: mgr.GetClient()})
}

func (m *VirtualMachineReconciler) setup(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	type index struct {
		kind   client.Object
		field  string
		values client.IndexerFunc
	}
	for _, i := range []index{
		{machine(), clusterField, func(o client.Object) []string { return ifAny(clusterOf(o)) }},
		{&lbv1.LoadBalancer{}, clusterField, func(o client.Object) []string { return ifAny(guestClusterOf(o)) }},
		{&lbv1.LoadBalancer{}, goesWithField, func(o client.Object) []string { return ifAny(o.GetAnnotations()[lbv1.GoesWithAnnotation]) }},
	} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, i.kind, i.field, i.values); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", i.kind, i.field, err)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).Named("loadbalancer-virtualmachine").
		For(machine(), builder.OnlyMetadata, builder.WithPredicates(needsReconcile())).
		WithOptions(options).
		Watches(&lbv1.LoadBalancer{}, handler.EnqueueRequestsFromMapFunc(m.of), builder.WithPredicates(watch.SpecOrMetadataChanged())).
		Complete(m)
}

func ifAny(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// guestClusterOf returns the guest cluster of a load balancer for a guest cluster, or "". It returns "" for the default cluster
// name, which several clusters may share.
func guestClusterOf(o client.Object) string {
	cluster := o.GetLabels()[lbv1.GuestClusterLabel]
	if o.(*lbv1.LoadBalancer).Spec.WorkloadType != lbv1.WorkloadCluster || cluster == loadbalancer.AnyCluster {
		return ""
	}
	return cluster
}

// of returns the machines that a load balancer may be marked with.
func (m *VirtualMachineReconciler) of(ctx context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	if name := o.GetAnnotations()[lbv1.GoesWithAnnotation]; name != "" {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}})
	}
	cluster := guestClusterOf(o)
	if cluster == "" {
		return requests
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kubevirtv1.VirtualMachineGroupVersionKind.GroupVersion().WithKind("VirtualMachineList"))
	unseen := o.GetAnnotations()[lbv1.MachinesSeenAnnotation] != "true"
	return append(requests, watch.Requests(ctx, m.Client, list, func(vm *metav1.PartialObjectMetadata) bool { return unseen || isBeingRemoved(vm) },
		client.InNamespace(o.GetNamespace()), client.MatchingFields{clusterField: cluster})...)
}

// needsReconcile filters machines that need to be reconciled.
func needsReconcile() predicate.Predicate {
	concerned := func(o client.Object) bool {
		return clusterOf(o) != "" || controllerutil.ContainsFinalizer(o, lbv1.VMFinalizer)
	}
	return predicate.And(predicate.NewPredicateFuncs(concerned), predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld, e.ObjectNew
		return was.GetAnnotations()[lbv1.RemovalAnnotation] != is.GetAnnotations()[lbv1.RemovalAnnotation] ||
			was.GetDeletionTimestamp().IsZero() != is.GetDeletionTimestamp().IsZero() || !maps.Equal(was.GetLabels(), is.GetLabels()) ||
			controllerutil.ContainsFinalizer(is, lbv1.VMFinalizer) || was.GetResourceVersion() == is.GetResourceVersion()
	}})
}
