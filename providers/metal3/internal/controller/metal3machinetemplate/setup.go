// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machinetemplate

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
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

// templateIndex indexes Metal3Machines by the Metal3MachineTemplate they were created from.
const templateIndex = "metadata.annotations[" + clusterv1.TemplateClonedFromNameAnnotation + "]"

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.Metal3Machine{}, templateIndex, func(o client.Object) []string {
		if name := templateOf(o); name != "" {
			return []string{name}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("indexing Metal3Machines by their template: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.Metal3MachineTemplate{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&infrav1.Metal3Machine{}, handler.EnqueueRequestsFromMapFunc(templateOfMachine), builder.WithPredicates(modeChanged())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.templatesOfCluster),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		Complete(r)
}

// templateOf returns the name of the template that the machine was created from, or "" if it was not created from a
// Metal3MachineTemplate.
func templateOf(machine client.Object) string {
	from := machine.GetAnnotations()
	if kind, ok := from[clusterv1.TemplateClonedFromGroupKindAnnotation]; ok && kind != infrav1.MachineTemplateGroupKind {
		return ""
	}
	return from[clusterv1.TemplateClonedFromNameAnnotation]
}

func templateOfMachine(_ context.Context, machine client.Object) []reconcile.Request {
	name := templateOf(machine)
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: machine.GetNamespace(), Name: name}}}
}

// modeChanged passes machines whose cleaning mode may differ from that of their template: they were created during its change,
// were changed themselves, were adopted by another template, or were unpaused.
func modeChanged() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*infrav1.Metal3Machine), e.ObjectNew.(*infrav1.Metal3Machine)
			return before.Spec.AutomatedCleaningMode != after.Spec.AutomatedCleaningMode || templateOf(before) != templateOf(after) ||
				annotations.HasPaused(before) != annotations.HasPaused(after)
		},
	}
}

// templatesOfCluster returns the templates of the cluster's machines without duplicates.
func (r *Reconciler) templatesOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	machines := &infrav1.Metal3MachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(cluster.GetNamespace()), client.UnsafeDisableDeepCopy,
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing Metal3Machines")
		return nil
	}
	seen := map[reconcile.Request]bool{}
	var requests []reconcile.Request
	for i := range machines.Items {
		for _, request := range templateOfMachine(ctx, &machines.Items[i]) {
			if !seen[request] {
				seen[request] = true
				requests = append(requests, request)
			}
		}
	}
	return requests
}
