// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3machine provisions a free bare-metal host as the Node of a Machine, and releases it.
package metal3machine

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/conversion"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles Metal3Machines.
type Reconciler struct {
	Client client.Client
	Hosts  *hosts.Hosts
	// Workloads provides clients for workload clusters.
	Workloads clustercache.ClusterCache
	Recorder  events.EventRecorder

	filter     watch.Filter
	written    patch.Expectations
	controller controller.Controller
}

// scope holds the state of one reconcile. It holds data only.
type scope struct {
	// cluster and infraCluster are nil if they do not exist; machine is nil if the Metal3Machine has no owner.
	cluster      *clusterv1.Cluster
	infraCluster *infrav1.Metal3Cluster
	machine      *clusterv1.Machine
	// template is the template of the Metal3Machine, nil if it is unknown or was deleted; lostTemplate is the name of a deleted
	// template.
	template     *infrav1.Metal3MachineTemplate
	lostTemplate string
	infra        *infrav1.Metal3Machine
	patch        *patch.Patch
	// host is the host of the machine, or nil.
	host *bmov1alpha1.BareMetalHost
}

func (s *scope) key() client.ObjectKey {
	return client.ObjectKeyFromObject(s.infra)
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines;machines/status,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments;machinesets,verbs=get
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=*,verbs=get
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;clusters/status,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile runs the pending steps of the machine, up to the first that has to wait.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.Metal3Machine, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder, V1Beta1: conversion.MachineConditions(),
		NewScope: r.newScope, Delay: assignmentGrace, ReconcileNormal: r.provision, ReconcileDelete: r.delete, ReconcilePaused: r.pause,
		Summarize: r.summarize, Forget: r.Hosts.Inventory.Forget,
	}.Run(ctx, req, &infrav1.Metal3Machine{})
}

// Owner returns the owning Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.cluster }

func (r *Reconciler) provision(ctx context.Context, s *scope) (ctrl.Result, error) {
	return run(ctx, s, r.provisioning()...)
}

func (r *Reconciler) delete(ctx context.Context, s *scope) (ctrl.Result, error) {
	return run(ctx, s, r.deletion()...)
}

func (r *Reconciler) pause(ctx context.Context, s *scope) (ctrl.Result, error) {
	return run(ctx, s, r.pauseHost)
}

// provisioning returns the steps that lead to a Node. A step that has nothing to do only reads.
func (r *Reconciler) provisioning() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		r.prepare, r.reportUnlistedDomain, r.waitForTemplate, r.associate, r.resumeHost, r.reportOtherHosts, r.reportRefusedLabels,
		r.claimData, r.waitForRenderedData, r.configure, r.observe, r.linkNode,
	}
}

// deletion returns the cleanup steps. None of them reads a failure domain, a cluster or a Secret, which may already be deleted.
func (r *Reconciler) deletion() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{r.findHost, r.resumeHost, r.deprovision, r.releaseData, r.releaseHost}
}

func run(ctx context.Context, s *scope, all ...reconcile.Step[*scope]) (ctrl.Result, error) {
	p, err := reconcile.RunSteps(ctx, s, all...)
	return p.Result(), err
}

func (r *Reconciler) event(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.infra, nil, corev1.EventTypeNormal, reason, action, format, args...)
}

func (r *Reconciler) warn(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.infra, nil, corev1.EventTypeWarning, reason, action, format, args...)
}
