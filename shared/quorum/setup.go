// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/faultline-io/faultline/shared/watch"
)

// SetupWithManager adds the controller to the manager. Control planes of a kind are watched once the first Cluster with
// protectQuorum has one.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter, r.cached = watch.Filter(watchFilter), source{mgr.GetClient(), mgr.GetCache()}
	for _, of := range []struct {
		object client.Object
		kind   *schema.GroupKind
	}{{r.Provider.NewCluster(), &r.clusterKind}, {r.Provider.NewMachine(), &r.machineKind}} {
		gvk, err := apiutil.GVKForObject(of.object, mgr.GetScheme())
		if err != nil {
			return fmt.Errorf("finding the kind of %T: %w", of.object, err)
		}
		*of.kind = gvk.GroupKind()
	}
	ofCluster := handler.EnqueueRequestsFromMapFunc(clusterOf)
	c, err := ctrl.NewControllerManagedBy(mgr).Named("quorum").
		For(&clusterv1.Cluster{}, builder.WithPredicates(watch.SpecOrMetadataChanged())).
		WithOptions(options).
		Watches(r.Provider.NewCluster(), ofCluster, builder.WithPredicates(watch.SpecOrMetadataChanged())).
		Watches(&clusterv1.Machine{}, ofCluster, builder.WithPredicates(machineChanged())).
		Build(r)
	if err != nil {
		return err
	}
	log := ctrl.LoggerFrom(ctx)
	tracker := &external.ObjectTracker{Controller: c, Cache: mgr.GetCache(), Scheme: mgr.GetScheme(), PredicateLogger: &log}
	readable := sync.Map{}
	r.follow = func(ctx context.Context, namespace string, object *unstructured.Unstructured) error {
		if _, known := readable.Load(object.GroupVersionKind()); !known {
			if err := r.readable(ctx, namespace, object); err != nil {
				return err
			}
			readable.Store(object.GroupVersionKind(), true)
		}
		return tracker.Watch(ctrl.LoggerFrom(ctx), object, ofCluster, watch.SpecOrMetadataChanged())
	}
	return nil
}

// readable checks whether control planes of a kind may be listed: a cache without that right would wait forever.
func (r *Reconciler) readable(ctx context.Context, namespace string, object *unstructured.Unstructured) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(object.GroupVersionKind())
	if err := r.Live.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return fmt.Errorf("listing control planes of kind %s: %w", object.GetKind(), err)
	}
	return nil
}

// clusterOf maps an object to the Cluster to which it belongs.
func clusterOf(_ context.Context, o client.Object) []ctrl.Request {
	name := watch.ClusterName(o)
	if name == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
}

// machineChanged passes control-plane Machines whose relevant state has changed.
func machineChanged() predicate.Predicate {
	return predicate.And(
		predicate.NewPredicateFuncs(func(o client.Object) bool { return util.IsControlPlaneMachine(o.(*clusterv1.Machine)) }),
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*clusterv1.Machine), e.ObjectNew.(*clusterv1.Machine)
			return machineOf(before) != machineOf(after) || before.ResourceVersion == after.ResourceVersion
		}},
	)
}
