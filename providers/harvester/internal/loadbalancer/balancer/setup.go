// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

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

// Fields that objects are found by.
const (
	// selectorField of a load balancer has terms that say which machines concern it.
	selectorField = "spec.backendServerSelector"
	// labelField of an instance has its labels as terms.
	labelField = "metadata.labels"
	// waitsField of a load balancer is "true" while it waits for an address.
	waitsField = "waits"
	// serviceField of an EndpointSlice is the Service whose traffic it leads.
	serviceField = "metadata.labels." + discoveryv1.LabelServiceName
)

// term is a label with a value.
func term(key, value string) string { return key + "=" + value }

// terms are labels of which a machine has one that the selector selects: those of its first key. The others are looked at then.
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

// SetupWithManager adds the controller, and the health checks, which run as long as it does.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
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
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(balancerOf)).
		Watches(&kubevirtv1.VirtualMachineInstance{}, handler.EnqueueRequestsFromMapFunc(r.leadingTo), builder.WithPredicates(machineChanged())).
		Watches(&kubevirtv1.VirtualMachineInstance{}, handler.EnqueueRequestsFromMapFunc(r.askingFor), builder.WithPredicates(machineChanged())).
		Watches(&lbv1.IPPool{}, handler.EnqueueRequestsFromMapFunc(r.waitingFor), builder.WithPredicates(poolHasMore())).
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
			if waits(o.(*lbv1.LoadBalancer)) {
				return []string{"true"}
			}
			return nil
		}},
		{&lbv1.LoadBalancer{}, asksField, asks},
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

// balancerOf is the load balancer of an EndpointSlice's Service; that of the EndpointSlice's own name, too, which it may be in the way of.
func balancerOf(_ context.Context, o client.Object) []reconcile.Request {
	requests := []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	if name := o.GetLabels()[discoveryv1.LabelServiceName]; name != "" && name != o.GetName() {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	return requests
}

// leadingTo are the load balancers that select a machine.
func (r *Reconciler) leadingTo(ctx context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for key, value := range o.GetLabels() {
		requests = append(requests, watch.Requests(ctx, r.Client, &lbv1.LoadBalancerList{}, func(lb *lbv1.LoadBalancer) bool {
			return selects(lb.Spec.BackendServerSelector, o.GetLabels())
		}, client.InNamespace(o.GetNamespace()), client.MatchingFields{selectorField: term(key, value)})...)
	}
	return requests
}

// waitingFor are the load balancers that wait for an address which a pool may give.
func (r *Reconciler) waitingFor(ctx context.Context, o client.Object) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &lbv1.LoadBalancerList{}, func(lb *lbv1.LoadBalancer) bool {
		return lb.Spec.IPPool == "" || lb.Spec.IPPool == o.GetName()
	}, client.MatchingFields{waitsField: "true"})
}

// serviceChanged drops updates of what nobody looks at here.
func serviceChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*corev1.Service), e.ObjectNew.(*corev1.Service)
		return !equality.Semantic.DeepEqual(was.Spec, is.Spec) || !equality.Semantic.DeepEqual(was.Status.LoadBalancer, is.Status.LoadBalancer) ||
			!maps.Equal(was.Labels, is.Labels) || !equality.Semantic.DeepEqual(was.OwnerReferences, is.OwnerReferences) ||
			was.ResourceVersion == is.ResourceVersion
	}}
}

// machineChanged drops updates that change neither who selects a machine nor where it is reached.
func machineChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*kubevirtv1.VirtualMachineInstance), e.ObjectNew.(*kubevirtv1.VirtualMachineInstance)
		return !maps.Equal(was.Labels, is.Labels) || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() ||
			was.IsFinal() != is.IsFinal() || !equality.Semantic.DeepEqual(was.Status.Interfaces, is.Status.Interfaces) ||
			was.ResourceVersion == is.ResourceVersion
	}}
}

// poolHasMore drops updates of pools after which they give nobody more than before, above all those by which addresses are taken.
func poolHasMore() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*lbv1.IPPool), e.ObjectNew.(*lbv1.IPPool)
		return !equality.Semantic.DeepEqual(was.Spec, is.Spec) || is.Status.Available > was.Status.Available ||
			!equality.Semantic.DeepEqual(was.Status.Conditions, is.Status.Conditions) || was.ResourceVersion == is.ResourceVersion
	}}
}
