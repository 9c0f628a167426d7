// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harvestercluster connects clusters to their Harvester, creates the objects that they need there in addition to machines, and
// publishes their failure domains.
package harvestercluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles HarvesterClusters.
type Reconciler struct {
	Client client.Client
	// Live reads from the management cluster's API server without a cache.
	Live        client.Reader
	Connections *harvester.Connections
	// Workloads holds the connections to workload clusters.
	Workloads clustercache.ClusterCache
	Domains   *publish.Publisher
	Recorder  events.EventRecorder
	// Consent determines what a cluster may use in other namespaces.
	Consent owned.Consent

	filter  watch.Filter
	written patch.Expectations
	// onHarvester tracks the writes of load balancers, Services and pools on Harvester.
	onHarvester   patch.Repeats
	accountChecks sync.Map // by key of the cluster: when the cloud provider's account was last found complete
}

// scope holds the state of one reconcile.
type scope struct {
	*Reconciler

	owner   *clusterv1.Cluster
	cluster *infrav1.HarvesterCluster
	by      owned.By
	patch   *patch.Patch
	domains *publish.Domains
	// conn is nil without a connection, and problem is the reason. With a connection, problem reports that cached objects may be stale,
	// or that a right is missing.
	conn    *harvester.Connection
	problem *harvester.Problem
	// requeueAfter is when to requeue without an event, for example to retry a refused request. 0 means never.
	requeueAfter time.Duration
	// removed lists what the API server did not store. Nothing is created on Harvester without it.
	removed       *patch.RemovedError
	pendingEvents []pendingEvent
}

// recheckInterval is when to requeue if an obstacle triggers no event, such as a foreign object or a namespace that is being deleted.
const recheckInterval = 15 * time.Second

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile creates what the cluster needs on Harvester, and publishes its endpoint and failure domains.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.HarvesterCluster, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder, Finalizer: infrav1.ClusterFinalizer, SharedConditions: true,
		NewScope: r.newScope, ReconcileNormal: reconcileNormal, ReconcileDelete: reconcileDelete,
		Summarize: summarize, Stored: func(s *scope) { s.recordEvents() }, Forget: r.forget,
	}.Run(ctx, req, &infrav1.HarvesterCluster{})
}

func (r *Reconciler) newScope(ctx context.Context, cluster *infrav1.HarvesterCluster, p *patch.Patch) (*scope, error) {
	owner, err := reconcile.OwnerCluster(ctx, r.Client, cluster)
	if err != nil || owner == nil {
		return nil, err
	}
	name := owner.Name
	if name == "" {
		name = cluster.Labels[clusterv1.ClusterNameLabel]
	}
	return &scope{
		Reconciler: r, owner: owner, cluster: cluster, patch: p, by: owned.By{Cluster: cluster, Name: name}, domains: r.Domains.Of(cluster, name),
	}, nil
}

func (r *Reconciler) forget(key client.ObjectKey) {
	r.Domains.Forget(key)
	r.accountChecks.Delete(key)
	r.Connections.Forget(requester(key))
}

func requester(key client.ObjectKey) harvester.Requester {
	return harvester.Requester{Kind: harvester.Cluster, Key: key}
}

// Owner returns the owning Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.owner }

func reconcileNormal(ctx context.Context, s *scope) (ctrl.Result, error) {
	if own, err := s.identify(ctx); err != nil || !own {
		return ctrl.Result{RequeueAfter: s.requeueAfter}, err
	}
	s.connect(ctx)
	if err := s.recordRemoved(s.recordHarvester(ctx)); err != nil {
		return ctrl.Result{}, err
	}
	complete, err := s.createAll(ctx)
	next, domainsErr := s.publishDomains(ctx)
	s.setProvisioned(complete)
	return ctrl.Result{RequeueAfter: reconcile.Earlier(next, s.requeueAfter)}, errors.Join(err, domainsErr, s.recordWorkloadUID(ctx))
}

func annotate(o client.Object, key, value string) {
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	o.SetAnnotations(all)
}

// metadataRemoved reports whether the API server did not store what must be stored before anything is created.
func (s *scope) metadataRemoved() bool { return s.removed != nil }

// recordHarvester records the identity of the Harvester before anything is created there.
func (s *scope) recordHarvester(ctx context.Context) error {
	if s.conn == nil || s.metadataRemoved() {
		return nil
	}
	s.cluster.Spec.Server = s.conn.Host()
	if uid := s.conn.UID(); uid != "" {
		annotate(s.cluster, infrav1.HarvesterUIDAnnotation, uid)
	}
	return s.patch.StoreSpec(ctx, s.Client, s.cluster)
}

// createAll creates what machines need on Harvester. It reports whether everything exists.
func (s *scope) createAll(ctx context.Context) (bool, error) {
	if s.stale() || s.metadataRemoved() { // conditions keep their last state while Harvester cannot be read
		return false, nil
	}
	exists, err := s.reconcileNamespace(ctx)
	if err != nil || !exists {
		return false, ignoreSyncing(err)
	}
	all := true
	var errs []error
	for _, step := range []func(context.Context) (bool, error){s.reconcileMachinePools, s.reconcileEndpoint, s.configureCloudProvider} {
		done, err := step(ctx)
		all = all && done
		errs = append(errs, ignoreSyncing(err))
	}
	return all, errors.Join(errs...)
}

// missingMessage returns a condition's message for an object that does not exist.
func missingMessage(kind, name string) string {
	return fmt.Sprintf("%s %s does not exist on Harvester", kind, name)
}
