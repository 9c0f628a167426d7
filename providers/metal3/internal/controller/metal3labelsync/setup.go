// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3labelsync

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/watch"
	"github.com/faultline-io/faultline/shared/watchfilter"
)

// providerIDIndex is the cache index of Metal3Machines by the provider ID that they share with their Node.
const providerIDIndex = "spec.providerID"

// SetupWithManager adds the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watchfilter.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.Metal3Machine{}, providerIDIndex, func(o client.Object) []string {
		if id := o.(*infrav1.Metal3Machine).Spec.ProviderID; id != "" {
			return []string{id}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("indexing Metal3Machines by provider ID: %w", err)
	}
	var err error
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		Named("metal3labelsync").
		For(&infrav1.Metal3Machine{}, builder.WithPredicates(machineChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&bmov1alpha1.BareMetalHost{}, handler.EnqueueRequestsFromMapFunc(machineOfHost), builder.WithPredicates(hostRelabelled())).
		Watches(&infrav1.Metal3Cluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfInfraCluster), builder.WithPredicates(clusterChanged())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfCluster),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), log))).
		WatchesRawSource(r.Workloads.GetClusterSource("metal3labelsync", r.machinesOfCluster)).
		Build(r)
	return err
}

// watchNodes makes Nodes of the machine's workload cluster wake their machines. It does nothing when they do already.
func (r *Reconciler) watchNodes(ctx context.Context, s *scope) error {
	return r.Workloads.Watch(ctx, client.ObjectKeyFromObject(s.cluster), clustercache.NewWatcher(clustercache.WatcherOptions{
		Name: "metal3labelsync-nodes", Watcher: r.controller, Kind: &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(r.machineOfNode),
		Predicates:   []predicate.TypedPredicate[client.Object]{nodeRelabelled()},
	}))
}

func machineOfHost(_ context.Context, o client.Object) []reconcile.Request {
	if consumer := hosts.Observe(o.(*bmov1alpha1.BareMetalHost)).Consumer; consumer.Name != "" && consumer.Namespace == o.GetNamespace() {
		return []reconcile.Request{{NamespacedName: consumer}}
	}
	return nil
}

func (r *Reconciler) machineOfNode(ctx context.Context, o client.Object) []reconcile.Request {
	id := o.(*corev1.Node).Spec.ProviderID
	if id == "" {
		return nil
	}
	return r.machines(ctx, client.MatchingFields{providerIDIndex: id})
}

func (r *Reconciler) machinesOfInfraCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machines(ctx, watch.OfInfrastructure(o))
}

func (r *Reconciler) machinesOfCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machines(ctx, watch.OfCluster(client.ObjectKeyFromObject(o)))
}

func (r *Reconciler) machines(ctx context.Context, which client.ListOption) []reconcile.Request {
	return watch.Requests[*infrav1.Metal3Machine](ctx, r.Client, &infrav1.Metal3MachineList{}, nil, which)
}
