// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3cluster publishes the failure domains of a cluster and their state, which it derives from their hosts.
package metal3cluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/conversion"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles Metal3Clusters.
type Reconciler struct {
	Client   client.Client
	Hosts    *hosts.Hosts
	Provider placement.Metal3
	Domains  *publish.Publisher
	Recorder events.EventRecorder

	filter  watch.Filter
	written patch.Expectations
}

type scope struct {
	owner   *clusterv1.Cluster
	cluster *infrav1.Metal3Cluster
	domains *publish.Domains
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clustertemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;clusters/status,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile publishes the cluster's failure domains and marks it as provisioned.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.Metal3Cluster, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder, Finalizer: infrav1.ClusterFinalizer, SharedConditions: true,
		V1Beta1: conversion.ClusterConditions(), NewScope: r.newScope, ReconcileNormal: r.reconcileNormal, ReconcileDelete: r.reconcileDelete,
		Summarize: summarize, Stored: func(s *scope) { s.domains.RecordEvents() }, Forget: r.Domains.Forget,
	}.Run(ctx, req, &infrav1.Metal3Cluster{})
}

func (r *Reconciler) newScope(ctx context.Context, cluster *infrav1.Metal3Cluster, _ *patch.Patch) (*scope, error) {
	owner, err := reconcile.OwnerCluster(ctx, r.Client, cluster)
	if err != nil || owner == nil {
		return nil, err
	}
	return &scope{owner: owner, cluster: cluster, domains: r.Domains.Of(cluster, owner.Name)}, nil
}

// Owner returns the owning Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.owner }

func summarize(_ context.Context, s *scope) error {
	return s.domains.Summarize(infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition)
}

func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) (ctrl.Result, error) {
	reachable := checkEndpoint(s.cluster)
	r.checkLabelPrefixes(s.cluster)
	next, err := r.publishDomains(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	if reachable && s.domains.Ready() && !ptr.Deref(s.cluster.Status.Initialization.Provisioned, false) {
		s.cluster.Status.Initialization.Provisioned = ptr.To(true)
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// checkEndpoint reports whether the cluster has an endpoint. The webhook requires one, too, but not for clusters created before
// the webhook was installed.
func checkEndpoint(cluster *infrav1.Metal3Cluster) bool {
	if endpoint := cluster.Spec.ControlPlaneEndpoint; endpoint.Host == "" || endpoint.Port <= 0 {
		status.False(cluster, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, infrav1.Metal3ClusterControlPlaneEndpointFailedReason,
			"spec.controlPlaneEndpoint has no host or no port: set both, because no controller sets them")
		return false
	}
	status.True(cluster, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, infrav1.Metal3ClusterBaremetalInfrastructureReadyReason)
	return true
}

// checkLabelPrefixes reports label prefixes that are not copied to Nodes, in a condition and an event.
func (r *Reconciler) checkLabelPrefixes(cluster *infrav1.Metal3Cluster) {
	_, refused := placement.LabelPrefixes(cluster.Annotations[infrav1.LabelSyncPrefixesAnnotation])
	if len(refused) == 0 {
		conditions.Delete(cluster, infrav1.Metal3ClusterLabelPrefixesRefusedCondition)
		return
	}
	message := fmt.Sprintf("Labels with these prefixes are not copied from hosts to Nodes: %s; change the annotation %s",
		strings.Join(refused, ", "), infrav1.LabelSyncPrefixesAnnotation)
	if conditions.GetMessage(cluster, infrav1.Metal3ClusterLabelPrefixesRefusedCondition) != message {
		r.Recorder.Eventf(cluster, nil, corev1.EventTypeWarning, infrav1.LabelPrefixRefusedReason, "SyncLabels", "%s", message)
	}
	conditions.Set(cluster, metav1.Condition{
		Type: infrav1.Metal3ClusterLabelPrefixesRefusedCondition, Status: metav1.ConditionTrue,
		Reason: infrav1.LabelPrefixRefusedReason, Message: message,
	})
}

// reconcileDelete waits until the machines are deleted, because their hosts are released as hosts of the cluster. The deletion of
// the last machine enqueues the cluster.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	names, err := reconcile.Remaining(ctx, r.Client, s.cluster, map[string]client.ObjectList{
		"Metal3Machine": &infrav1.Metal3MachineList{}, "Machine": &clusterv1.MachineList{},
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(names) > 0 {
		status.False(s.cluster, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, infrav1.Metal3ClusterWaitingForMachinesReason,
			fmt.Sprintf("Waiting for %d objects to be deleted: %s", len(names), strings.Join(names[:min(5, len(names))], ", ")))
		return ctrl.Result{}, nil
	}
	if err := r.Hosts.ReleaseKept(ctx, s.cluster.Namespace, s.name()); err != nil {
		return ctrl.Result{}, err
	}
	s.domains.Remove()
	controllerutil.RemoveFinalizer(s.cluster, infrav1.ClusterFinalizer)
	return ctrl.Result{}, nil
}

// name returns the name of the Cluster, which may no longer exist.
func (s *scope) name() string {
	if s.owner.Name != "" {
		return s.owner.Name
	}
	return s.cluster.Labels[clusterv1.ClusterNameLabel]
}
