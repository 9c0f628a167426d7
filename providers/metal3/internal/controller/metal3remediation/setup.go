// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	"context"
	"errors"
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
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/watch"
)

const (
	// powerOffIndex indexes BareMetalHosts by the UIDs of the remediations that keep them powered off.
	powerOffIndex = "metadata.annotations[" + infrav1.RemediationRebootAnnotationPrefix + "]"
	// machineIndex indexes Metal3Remediations by their Machine.
	machineIndex = "metadata.ownerReferences[Machine]"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	if err := mgr.GetFieldIndexer().IndexField(ctx, &bmov1alpha1.BareMetalHost{}, powerOffIndex, func(o client.Object) []string {
		return hosts.PowerOffRequesters(o.(*bmov1alpha1.BareMetalHost))
	}); err != nil {
		return fmt.Errorf("indexing BareMetalHosts: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.Metal3Remediation{}, machineIndex, func(o client.Object) []string {
		return machineNames(o)
	}); err != nil {
		return fmt.Errorf("indexing Metal3Remediations: %w", err)
	}
	var err error
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.Metal3Remediation{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&bmov1alpha1.BareMetalHost{}, handler.EnqueueRequestsFromMapFunc(r.remediationsOfHost), builder.WithPredicates(powerChanged())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.remediationsOfMachine), builder.WithPredicates(deletionBegins())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.remediationsOfCluster),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		WatchesRawSource(r.Workloads.GetClusterSource("metal3remediation", r.remediationsOfCluster)).
		Build(r)
	return err
}

// watchNodes makes deleted and created Nodes of the workload cluster enqueue the remediations that have deleted a Node. It does
// nothing if the watch exists.
func (r *Reconciler) watchNodes(ctx context.Context, s *scope) error {
	cluster := client.ObjectKeyFromObject(s.cluster)
	err := r.Workloads.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.WatcherOptions{
		Name: "metal3remediation-nodes", Watcher: r.controller, Kind: &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
			return r.remediationsWithBackup(ctx, cluster)
		}),
		Predicates: []predicate.TypedPredicate[client.Object]{predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}},
	}))
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return nil // the connection triggers an event
	}
	return err
}

// remediationsWithBackup returns the remediations of a cluster that wait for the Node they have deleted to disappear or to come
// back.
func (r *Reconciler) remediationsWithBackup(ctx context.Context, cluster client.ObjectKey) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &infrav1.Metal3RemediationList{}, isBackedUp, watch.OfCluster(cluster))
}

// powerChanged passes only updates of a host that a remediation waits for.
func powerChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*bmov1alpha1.BareMetalHost), e.ObjectNew.(*bmov1alpha1.BareMetalHost)
			return before.Status.PoweredOn != after.Status.PoweredOn || before.Spec.Online != after.Spec.Online ||
				before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
				len(hosts.PowerOffRequesters(before)) != len(hosts.PowerOffRequesters(after))
		},
	}
}

func deletionBegins() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
	}
}

// machineNames returns the names of the Machines that own the object.
func machineNames(o client.Object) []string {
	var names []string
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == "Machine" {
			names = append(names, owner.Name)
		}
	}
	return names
}

// remediationsOfHost returns the remediations of the Machine that owns the Metal3Machine of the host.
func (r *Reconciler) remediationsOfHost(ctx context.Context, o client.Object) []reconcile.Request {
	consumer := hosts.Observe(o.(*bmov1alpha1.BareMetalHost)).Consumer
	metal3 := &infrav1.Metal3Machine{}
	if consumer.Name == "" || consumer.Namespace != o.GetNamespace() || r.Client.Get(ctx, consumer, metal3) != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, machine := range machineNames(metal3) {
		requests = append(requests, r.remediations(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{machineIndex: machine})...)
	}
	return requests
}

func (r *Reconciler) remediationsOfMachine(ctx context.Context, machine client.Object) []reconcile.Request {
	return r.remediations(ctx, client.InNamespace(machine.GetNamespace()), client.MatchingFields{machineIndex: machine.GetName()})
}

// remediationsOfCluster returns the remediations with the cluster's label, which a MachineHealthCheck always sets.
func (r *Reconciler) remediationsOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.remediations(ctx, watch.OfCluster(client.ObjectKeyFromObject(cluster)))
}

func (r *Reconciler) remediations(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	return watch.Requests[*infrav1.Metal3Remediation](ctx, r.Client, &infrav1.Metal3RemediationList{}, nil, which...)
}
