// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/watch"
)

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, hub *connection.EventHub, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	building := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.VSphereCluster{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{},
			handler.EnqueueRequestsFromMapFunc(util.ClusterToInfrastructureMapFunc(ctx, infrav1.GroupVersion.WithKind("VSphereCluster"), mgr.GetClient(), &infrav1.VSphereCluster{})),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		Watches(&infrav1.VSphereDeploymentZone{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfZone)).
		Watches(&infrav1.VSphereVM{}, handler.EnqueueRequestsFromMapFunc(r.clusterOf), builder.WithPredicates(watch.Deleted())).
		Watches(&infrav1.VSphereVM{}, handler.EnqueueRequestsFromMapFunc(r.clusterOnOtherServer), builder.WithPredicates(watch.Created())).
		Watches(&infrav1.VSphereMachine{}, handler.EnqueueRequestsFromMapFunc(r.clusterOf), builder.WithPredicates(publish.WaitChanged(waitsFor))).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.clusterOf), builder.WithPredicates(publish.MachineMoved())).
		Watches(&infrav1.VSphereClusterIdentity{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfIdentity)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfSecret)).
		WatchesRawSource(hub.Source(r.clustersOfEvent))
	if r.ClusterModules {
		building.
			Watches(&infrav1.VSphereVM{}, handler.EnqueueRequestsFromMapFunc(r.clusterOf), builder.WithPredicates(predicate.Or(publish.WaitChanged(waitsForModule), ownerChanged()))).
			Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(r.clusterOf), builder.WithPredicates(watch.Deleted()))
	}
	return building.Complete(r)
}

const (
	// nameIndex finds VSphereClusters by the name of their Cluster.
	nameIndex = "clusterName"
	// userIndex finds Secrets by the name of the VSphereCluster that keeps them.
	userIndex = "keptBy"
)

func index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &infrav1.VSphereCluster{}, nameIndex, clusterNames); err != nil {
		return err
	}
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return indexer.IndexField(ctx, secrets, userIndex, keptBy)
}

// clusterNames returns the possible names of a VSphereCluster's Cluster: a VSphereCluster gets its owner and label a moment
// after its creation, and most have the name of their Cluster.
func clusterNames(cluster client.Object) []string {
	names := []string{cluster.GetName()}
	if label := cluster.GetLabels()[clusterv1.ClusterNameLabel]; label != "" {
		names = append(names, label)
	}
	for _, ref := range cluster.GetOwnerReferences() {
		if ref.Kind == "Cluster" {
			names = append(names, ref.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// keptBy returns the VSphereClusters whose account a Secret is, or was.
func keptBy(secret client.Object) []string {
	if !controllerutil.ContainsFinalizer(secret, infrav1.SecretIdentitySetFinalizer) {
		return nil
	}
	var names []string
	for _, ref := range secret.GetOwnerReferences() {
		if ref.Kind == "VSphereCluster" {
			names = append(names, ref.Name)
		}
	}
	return names
}

func waitsFor(machine *infrav1.VSphereMachine) string {
	return distribution.Waits{Condition: infrav1.VSphereMachinePlacementReadyCondition}.For(machine)
}

func (r *Reconciler) clustersWhere(ctx context.Context, keep func(*infrav1.VSphereCluster) bool, opts ...client.ListOption) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &infrav1.VSphereClusterList{}, keep, opts...)
}

// clustersOfZone includes the clusters for which the zone has just ceased to be a failure domain, and those with cluster modules on its
// server, which can be deleted with its account.
func (r *Reconciler) clustersOfZone(ctx context.Context, o client.Object) []reconcile.Request {
	zone := o.(*infrav1.VSphereDeploymentZone)
	return r.clustersWhere(ctx, func(cluster *infrav1.VSphereCluster) bool {
		return placement.Selects(cluster, zone) || publishes(cluster, zone.Name) || slices.ContainsFunc(cluster.Spec.ClusterModules, func(module infrav1.ClusterModule) bool {
			return module.Server != "" && infrav1.SameServer(module.Server, zone.Spec.Server)
		})
	})
}

func publishes(cluster *infrav1.VSphereCluster, domain string) bool {
	for i := range cluster.Status.FailureDomains {
		if cluster.Status.FailureDomains[i].Name == domain {
			return true
		}
	}
	return false
}

// clusterOf returns the cluster by the label that all objects of a cluster carry.
func (r *Reconciler) clusterOf(ctx context.Context, o client.Object) []reconcile.Request {
	return r.clusterOfWhere(ctx, o, nil)
}

// clusterOnOtherServer returns the cluster of a VSphereVM if the cluster does not use that server, and therefore names the machine.
func (r *Reconciler) clusterOnOtherServer(ctx context.Context, o client.Object) []reconcile.Request {
	return r.clusterOfWhere(ctx, o, func(cluster *infrav1.VSphereCluster) bool {
		return onOtherServer(cluster.Spec.Servers(), o.(*infrav1.VSphereVM))
	})
}

func (r *Reconciler) clusterOfWhere(ctx context.Context, o client.Object, keep func(*infrav1.VSphereCluster) bool) []reconcile.Request {
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil
	}
	return r.clustersWhere(ctx, keep, client.InNamespace(o.GetNamespace()), client.MatchingFields{nameIndex: name})
}

func (r *Reconciler) clustersOfIdentity(ctx context.Context, o client.Object) []reconcile.Request {
	return r.clustersWhere(ctx, func(cluster *infrav1.VSphereCluster) bool {
		own := cluster.Spec.IdentityRef.Kind == infrav1.VSphereClusterIdentityKind && cluster.Spec.IdentityRef.Name == o.GetName()
		return own || len(cluster.Spec.AdditionalServers) > 0 // whose zones may have it
	})
}

// clustersOfNamespace returns the clusters that depend on the namespace's labels, which the allowedNamespaces of an identity
// select.
func (r *Reconciler) clustersOfNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.clustersWhere(ctx, func(cluster *infrav1.VSphereCluster) bool {
		return cluster.Spec.IdentityRef.Kind == infrav1.VSphereClusterIdentityKind || len(cluster.Spec.AdditionalServers) > 0
	}, client.InNamespace(o.GetName()))
}

func (r *Reconciler) clustersOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	return r.clustersWhere(ctx, func(cluster *infrav1.VSphereCluster) bool {
		return cluster.Spec.IdentityRef.Kind == infrav1.SecretKind && cluster.Spec.IdentityRef.Name == o.GetName()
	}, client.InNamespace(o.GetNamespace()))
}

// clustersOfEvent returns the clusters whose account has gained or lost its session.
func (r *Reconciler) clustersOfEvent(ctx context.Context, e vcenter.Event) []reconcile.Request {
	if e.Kind != vcenter.SessionUp && e.Kind != vcenter.SessionDown {
		return nil
	}
	if e.Server == "" { // every account may have changed
		return r.clustersWhere(ctx, nil)
	}
	var requests []reconcile.Request
	for _, key := range r.VCenters.ClustersOf(e.Account) {
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}
