// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// errUndone is returned if a move makes no progress because its writes are reverted.
var errUndone = errors.New("other clients change the annotations after each write")

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	kind, err := apiutil.GVKForObject(r.Provider.NewCluster(), mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("finding the kind of infrastructure clusters: %w", err)
	}
	infraCluster := reconcile.InfraCluster(mgr.GetClient(), kind.GroupKind())
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("rebalance").
		For(r.Provider.NewCluster(), builder.WithPredicates(clusterChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(infraCluster), builder.WithPredicates(ownerChanged())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(infraCluster), builder.WithPredicates(machineChanged())).
		Build(r)
	if err != nil {
		return err
	}
	r.followInventory = once("clusterctl's inventory", func() error { return c.Watch(r.inventoryChanges(mgr, infraCluster)) })
	r.cache, r.follow = mgr.GetCache(), r.controlPlaneChanges(mgr, c, infraCluster)
	return nil
}

// controlPlaneChanges returns a function that starts to watch control planes of a kind, once per kind and served version. Their CRD
// may not be installed before the first Cluster has one.
func (r *Reconciler) controlPlaneChanges(
	mgr ctrl.Manager, c controller.Controller, infraCluster handler.MapFunc,
) func(context.Context, string, machines.ControlPlaneKind, client.Object) error {
	var mu sync.Mutex
	type of struct {
		kind    machines.ControlPlaneKind
		version schema.GroupVersionKind
	}
	started := map[of]bool{}
	return func(ctx context.Context, namespace string, kind machines.ControlPlaneKind, object client.Object) error {
		mu.Lock()
		defer mu.Unlock()
		key := of{kind, object.GetObjectKind().GroupVersionKind()}
		if started[key] {
			return nil
		}
		if err := r.listOne(ctx, namespace, object); err != nil {
			return err
		}
		watched := object.DeepCopyObject().(client.Object) // The caller reads into object.
		if err := c.Watch(source.Kind(mgr.GetCache(), watched, handler.EnqueueRequestsFromMapFunc(infraCluster), controlPlaneChanged(kind))); err != nil {
			return fmt.Errorf("watching control planes: %w", err)
		}
		started[key] = true
		return nil
	}
}

// listOne checks that control planes of a kind whose CRD can be removed can be listed: a cache of one that cannot waits forever, and with it
// each reconcile that reads from it.
func (r *Reconciler) listOne(ctx context.Context, namespace string, object client.Object) error {
	of, is := object.(*unstructured.Unstructured)
	if !is {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(of.GroupVersionKind())
	if err := r.Live.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return fmt.Errorf("listing control planes of kind %s: %w", of.GetKind(), err)
	}
	return nil
}

// inventoryChanges enqueues every Cluster when the version of a control-plane provider changes.
func (r *Reconciler) inventoryChanges(mgr ctrl.Manager, infraCluster handler.MapFunc) source.Source {
	entry := &unstructured.Unstructured{}
	entry.SetGroupVersionKind(inventory())
	return source.Kind(mgr.GetCache(), entry, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, entry *unstructured.Unstructured) []ctrl.Request {
		if !isKnown(controlPlaneProvider(entry)) {
			return nil
		}
		r.installed.forget()
		list := &clusterv1.ClusterList{}
		if err := mgr.GetClient().List(ctx, list); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list Clusters for a version change")
		}
		var requests []ctrl.Request
		for i := range list.Items {
			requests = append(requests, infraCluster(ctx, &list.Items[i])...)
		}
		return requests
	}))
}

// once calls a function until it has succeeded once.
func once(what string, call func() error) func(context.Context) error {
	var mu sync.Mutex
	done := false
	return func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return nil
		}
		if err := call(); err != nil {
			return fmt.Errorf("watching %s: %w", what, err)
		}
		done = true
		return nil
	}
}

// clusterChanged passes infrastructure clusters whose spec, metadata or failure domains have changed.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(provider.Cluster), e.ObjectNew.(provider.Cluster)
		_, was := before.Distribution()
		_, is := after.Distribution()
		return before.GetGeneration() != after.GetGeneration() || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
			!maps.Equal(before.GetLabels(), after.GetLabels()) || len(before.GetOwnerReferences()) != len(after.GetOwnerReferences()) ||
			!was.FailureDomainsSince.Equal(&is.FailureDomainsSince) || !sameDomains(was.FailureDomains, is.FailureDomains) ||
			before.GetResourceVersion() == after.GetResourceVersion()
	}}
}

func sameDomains(before, after []faultlinev1.DomainStatus) bool {
	return equality.Semantic.DeepEqual(domainsOf(before, nil, nil), domainsOf(after, nil, nil))
}

// ownerChanged passes Clusters whose spec, annotations or failure domains have changed.
func ownerChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*clusterv1.Cluster), e.ObjectNew.(*clusterv1.Cluster)
		return before.Generation != after.Generation || !maps.Equal(before.Annotations, after.Annotations) ||
			!equality.Semantic.DeepEqual(before.Status.FailureDomains, after.Status.FailureDomains)
	}}
}

// machineChanged passes control-plane Machines whose relevant state has changed.
func machineChanged() predicate.Predicate {
	return predicate.And(
		predicate.NewPredicateFuncs(func(o client.Object) bool { return util.IsControlPlaneMachine(o.(*clusterv1.Machine)) }),
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			return machineOfObject(e.ObjectOld.(*clusterv1.Machine)) != machineOfObject(e.ObjectNew.(*clusterv1.Machine))
		}},
	)
}

// controlPlaneChanged passes control planes whose relevant state has changed, and those that cannot be read.
func controlPlaneChanged(kind machines.ControlPlaneKind) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, unread := kind.Observe(e.ObjectOld)
		after, err := kind.Observe(e.ObjectNew)
		return unread != nil || err != nil || before != after
	}}
}

// isKnown reports whether a control-plane provider is that of a known kind.
func isKnown(provider string) bool {
	return slices.ContainsFunc(machines.ControlPlaneKinds(), func(kind machines.ControlPlaneKind) bool { return kind.Facts().Provider == provider })
}
