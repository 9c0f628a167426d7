// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
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

// SetupWithManager adds the controller.
func (r *IPPoolReconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&lbv1.IPPool{}).
		WithOptions(options).
		Watches(&lbv1.IPPool{}, handler.EnqueueRequestsFromMapFunc(r.others), builder.WithPredicates(specChanged())).
		WatchesMetadata(&lbv1.IPPoolBlock{}, handler.EnqueueRequestsFromMapFunc(poolOfBlock)).
		Complete(r)
}

// poolOfBlock enqueues the pool of a block.
func poolOfBlock(_ context.Context, o client.Object) []reconcile.Request {
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == "IPPool" {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: owner.Name}}}
		}
	}
	return nil
}

// others enqueues the other pools, whose obstacles may depend on the pool.
func (r *IPPoolReconciler) others(ctx context.Context, o client.Object) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &lbv1.IPPoolList{}, func(other *lbv1.IPPool) bool {
		if other.Name == o.GetName() {
			return false
		}
		r.lastUpdate.Delete(other.Name)
		return true
	})
}

// specChanged passes updates that change the spec. The generation does not tell, because the status is not a subresource.
func specChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*lbv1.IPPool), e.ObjectNew.(*lbv1.IPPool)
		return !equality.Semantic.DeepEqual(was.Spec, is.Spec)
	}}
}
