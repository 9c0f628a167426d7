// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/watch"
)

// Index fields.
const (
	// selectorField of a load balancer has the terms of its selector.
	selectorField = "spec.backendServerSelector"
	// labelField of an instance has its labels as terms.
	labelField = "metadata.labels"
	// waitsField of a load balancer is "true" while it waits for an address.
	waitsField = "waits"
	// serviceField of an EndpointSlice is its Service.
	serviceField = "metadata.labels." + discoveryv1.LabelServiceName
)

// term formats a label and its value.
func term(key, value string) string { return key + "=" + value }

// terms returns the labels of the first key of the selector: a selected machine has one of them. The other keys are checked afterwards.
func terms(selector map[string][]string) []string {
	if len(selector) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(selector)))
	var all []string
	for _, value := range selector[first] {
		all = append(all, term(first, value))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// SetupWithManager adds the controller, and the health checks, which run with it.
func (r *LoadBalancerReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := mgr.Add(r.Health); err != nil {
		return fmt.Errorf("adding health checks: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&lbv1.LoadBalancer{}).
		WithOptions(options).
		Watches(&corev1.Service{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(serviceChanged())).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(sliceToLoadBalancers)).
		Watches(&kubevirtv1.VirtualMachineInstance{}, handler.EnqueueRequestsFromMapFunc(r.machineToLoadBalancers), builder.WithPredicates(machineChanged())).
		Watches(&kubevirtv1.VirtualMachineInstance{}, handler.EnqueueRequestsFromMapFunc(r.instanceToLoadBalancers), builder.WithPredicates(machineChanged())).
		Watches(&lbv1.IPPool{}, handler.EnqueueRequestsFromMapFunc(r.poolToLoadBalancers), builder.WithPredicates(poolHasMore())).
		WatchesRawSource(r.Health.Source()).
		Complete(r)
}

func index(ctx context.Context, indexer client.FieldIndexer) error {
	type of struct {
		kind   client.Object
		field  string
		values client.IndexerFunc
	}
	for _, i := range []of{
		{&lbv1.LoadBalancer{}, selectorField, func(o client.Object) []string {
			lb := o.(*lbv1.LoadBalancer)
			if !isForVMs(lb) {
				return nil
			}
			return terms(lb.Spec.BackendServerSelector)
		}},
		{&lbv1.LoadBalancer{}, waitsField, func(o client.Object) []string {
			if needsAddress(o.(*lbv1.LoadBalancer)) {
				return []string{"true"}
			}
			return nil
		}},
		{&lbv1.LoadBalancer{}, pendingBackendsField, hasPendingBackends},
		{&kubevirtv1.VirtualMachineInstance{}, labelField, func(o client.Object) []string {
			var all []string
			for key, value := range o.GetLabels() {
				all = append(all, term(key, value))
			}
			return all
		}},
		{&discoveryv1.EndpointSlice{}, serviceField, func(o client.Object) []string { return []string{o.GetLabels()[discoveryv1.LabelServiceName]} }},
	} {
		if err := indexer.IndexField(ctx, i.kind, i.field, i.values); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", i.kind, i.field, err)
		}
	}
	return nil
}

// sliceToLoadBalancers enqueues the load balancer of an EndpointSlice's Service, and that of the EndpointSlice's own name, which it may
// block.
func sliceToLoadBalancers(_ context.Context, o client.Object) []reconcile.Request {
	requests := []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	if name := o.GetLabels()[discoveryv1.LabelServiceName]; name != "" && name != o.GetName() {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	return requests
}

// machineToLoadBalancers enqueues the load balancers that select a machine.
func (r *LoadBalancerReconciler) machineToLoadBalancers(ctx context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for key, value := range o.GetLabels() {
		requests = append(requests, watch.Requests(ctx, r.Client, &lbv1.LoadBalancerList{}, func(lb *lbv1.LoadBalancer) bool {
			return selects(lb.Spec.BackendServerSelector, o.GetLabels())
		}, client.InNamespace(o.GetNamespace()), client.MatchingFields{selectorField: term(key, value)})...)
	}
	return requests
}

// poolToLoadBalancers enqueues the load balancers that wait for an address that a pool may have.
func (r *LoadBalancerReconciler) poolToLoadBalancers(ctx context.Context, o client.Object) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &lbv1.LoadBalancerList{}, func(lb *lbv1.LoadBalancer) bool {
		return lb.Spec.IPPool == "" || lb.Spec.IPPool == o.GetName()
	}, client.MatchingFields{waitsField: "true"})
}

// serviceChanged filters updates of fields that the controller does not read.
func serviceChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*corev1.Service), e.ObjectNew.(*corev1.Service)
		return !equality.Semantic.DeepEqual(was.Spec, is.Spec) || !equality.Semantic.DeepEqual(was.Status.LoadBalancer, is.Status.LoadBalancer) ||
			!maps.Equal(was.Labels, is.Labels) || !equality.Semantic.DeepEqual(was.OwnerReferences, is.OwnerReferences) ||
			was.ResourceVersion == is.ResourceVersion
	}}
}

// machineChanged filters updates that change neither which load balancers select a machine nor its addresses.
func machineChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*kubevirtv1.VirtualMachineInstance), e.ObjectNew.(*kubevirtv1.VirtualMachineInstance)
		return !maps.Equal(was.Labels, is.Labels) || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() ||
			was.IsFinal() != is.IsFinal() || !equality.Semantic.DeepEqual(was.Status.Interfaces, is.Status.Interfaces) ||
			was.ResourceVersion == is.ResourceVersion
	}}
}

// poolHasMore filters updates of pools that free no address for a waiting load balancer, in particular allocations.
func poolHasMore() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*lbv1.IPPool), e.ObjectNew.(*lbv1.IPPool)
		return !equality.Semantic.DeepEqual(was.Spec, is.Spec) || is.Status.Available > was.Status.Available ||
			!equality.Semantic.DeepEqual(was.Status.Conditions, is.Status.Conditions) || was.ResourceVersion == is.ResourceVersion
	}}
}
