// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/watch"
)

// templateIndex indexes claims and data by the name of their template.
const templateIndex = "spec.template.name"

// SetupWithManager adds the controller to the manager.
func (r *TemplateReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter, r.clock = watch.Filter(watchFilter), clock.RealClock{}
	log := ctrl.LoggerFrom(ctx)
	if err := indexByTemplate(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.Metal3DataTemplate{},
			builder.WithPredicates(specOrFinalizersChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&infrav1.Metal3DataClaim{}, handler.EnqueueRequestsFromMapFunc(templateOf), builder.WithPredicates(specOrFinalizersChanged())).
		Watches(&infrav1.Metal3Data{}, handler.EnqueueRequestsFromMapFunc(templateOf), builder.WithPredicates(r.createdOrDeleted())).
		Watches(&infrav1.Metal3Machine{}, handler.EnqueueRequestsFromMapFunc(r.templateOfMachine), builder.WithPredicates(watch.Deleted())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.templatesOfCluster),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		Complete(r)
}

func indexByTemplate(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range []client.Object{&infrav1.Metal3DataClaim{}, &infrav1.Metal3Data{}} {
		if err := indexer.IndexField(ctx, kind, templateIndex, func(o client.Object) []string { return []string{templateName(o)} }); err != nil {
			return fmt.Errorf("indexing %T by its template: %w", kind, err)
		}
	}
	return nil
}

func templateName(o client.Object) string {
	switch o := o.(type) {
	case *infrav1.Metal3DataClaim:
		return o.Spec.Template.Name
	case *infrav1.Metal3Data:
		return o.Spec.Template.Name
	default:
		return ""
	}
}

// specOrFinalizersChanged drops updates that change only the status, which this controller writes itself, unless a finalizer was
// removed.
func specOrFinalizersChanged() predicate.Predicate {
	return predicate.Or(watch.SpecOrMetadataChanged(), predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return len(e.ObjectOld.GetFinalizers()) > len(e.ObjectNew.GetFinalizers())
	}})
}

// createdOrDeleted drops updates, because the relevant fields of data are immutable. Deleted data no longer has to appear in the
// cache.
func (r *TemplateReconciler) createdOrDeleted() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool {
			r.created.Forget(client.ObjectKeyFromObject(e.Object))
			return true
		},
	}
}

func templateOf(_ context.Context, o client.Object) []reconcile.Request {
	name := templateName(o)
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
}

// templateOfMachine returns the template of the machine's claim, which has the name of the machine.
func (r *TemplateReconciler) templateOfMachine(ctx context.Context, machine client.Object) []reconcile.Request {
	claim := &infrav1.Metal3DataClaim{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(machine), claim); err != nil {
		return nil // the claim was deleted before the machine, as expected
	}
	return templateOf(ctx, claim)
}

func (r *TemplateReconciler) templatesOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	claims := &infrav1.Metal3DataClaimList{}
	if err := r.Client.List(ctx, claims, client.InNamespace(cluster.GetNamespace()),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing Metal3DataClaims")
		return nil
	}
	seen := map[string]bool{}
	var requests []reconcile.Request
	for i := range claims.Items {
		if name := claims.Items[i].Spec.Template.Name; !seen[name] {
			seen[name] = true
			requests = append(requests, templateOf(ctx, &claims.Items[i])...)
		}
	}
	return requests
}
