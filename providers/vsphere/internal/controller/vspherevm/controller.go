// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vspherevm creates, configures, powers on and deletes a virtual machine.
package vspherevm

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles VSphereVMs.
type Reconciler struct {
	Client client.Client
	// Secrets reads bootstrap data, which is not kept in the manager's cache.
	Secrets client.Reader
	// Live reads objects that the cache may not show yet, and pools of any kind.
	Live     client.Reader
	VCenters VCenters
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// RetryAfter is the delay after the first failure; it doubles with each further one.
	RetryAfter time.Duration
	// ClusterModules makes machines join cluster modules.
	ClusterModules bool

	tasks    tasks
	failures failures
	written  patch.Expectations

	filter  watch.Filter
	claimed patch.Repeats
}

// VCenters returns the session for a virtual machine. The account and thumbprint are determined on each use, so that
// corrections apply to machines of every age, including those in deletion.
type VCenters interface {
	ForVM(ctx context.Context, cluster *infrav1.VSphereCluster, vm *infrav1.VSphereVM) (*vcenter.Session, error)
	// ClustersOf returns the VSphereClusters that use an account.
	ClustersOf(account string) []client.ObjectKey
}

// scope holds the state of one reconcile: data and the session, nothing that reads or writes Kubernetes objects.
type scope struct {
	vm *infrav1.VSphereVM
	// owner is the Cluster; owner and cluster are nil if they do not exist.
	owner   *clusterv1.Cluster
	cluster *infrav1.VSphereCluster
	patch   *patch.Patch

	session *vcenter.Session
	// observed is the virtual machine, if found is true. verdict holds what was found instead.
	observed vcenter.VM
	found    bool
	verdict  virtualmachine.Verdict
	// destroyed is true if a task that deleted the recorded virtual machine has succeeded since the last reconcile.
	destroyed bool
	// finished is the task that has succeeded since the last reconcile, or its zero value.
	finished vcenter.Task
	// finishedReason is the condition's reason while that task ran.
	finishedReason string
	// finishedOperation is the operation of that task.
	finishedOperation operation
	// doing is the current operation, which distinguishes failures.
	doing operation
	// later is when to reconcile again although all steps are done.
	later time.Duration
	// waitsForInventory is true if the task in flight has succeeded and its effect is not in the inventory yet.
	waitsForInventory bool
}

// waitForInventory waits for the event with which the inventory reports the effect of a finished task. It also requeues,
// because a cloned machine may never become visible.
func (r *Reconciler) waitForInventory(s *scope) reconcile.Progress {
	s.waitsForInventory = true
	return reconcile.Retry(r.RetryAfter)
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspherevms,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspherevms/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;clusters/status,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile runs the steps that the VSphereVM still needs, up to the first one that must wait.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.VSphereVM, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder, V1Beta1: conversion.VMConditions(),
		NewScope: r.newScope, ReconcileNormal: r.reconcileNormal, ReconcileDelete: r.reconcileDelete,
		Summarize: func(_ context.Context, s *scope) error { return setReady(s.vm) }, Forget: r.failures.forget,
	}.Run(ctx, req, &infrav1.VSphereVM{})
}

// newScope reads the Cluster and the VSphereCluster. Neither must exist: a VSphereVM can be deleted after them.
func (r *Reconciler) newScope(ctx context.Context, vm *infrav1.VSphereVM, p *patch.Patch) (*scope, error) {
	s := &scope{vm: vm, patch: p}
	owner, err := reconcile.ClusterOf(ctx, r.Client, vm)
	switch {
	case err != nil:
		return nil, err
	case owner != nil:
	case vm.DeletionTimestamp.IsZero():
		return s, nil
	default:
		s.cluster, err = reconcile.Orphaned[*infrav1.VSphereCluster](ctx, r.Client, vm, &infrav1.VSphereClusterList{})
		return s, err
	}
	s.owner = owner
	key := client.ObjectKey{Namespace: vm.Namespace, Name: owner.Spec.InfrastructureRef.Name}
	s.cluster, err = reconcile.Find(ctx, r.Client, key, &infrav1.VSphereCluster{})
	return s, err
}

// Owner returns the Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.owner }

func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.cluster == nil {
		setProvisioned(s.vm, infrav1.VSphereMachineVirtualMachineWaitingForClusterInfrastructureReadyReason, "VSphereCluster of the cluster does not exist yet")
		return ctrl.Result{}, nil
	}
	controllerutil.AddFinalizer(s.vm, infrav1.VMFinalizer)
	return r.run(ctx, s, r.provisioning())
}

func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	return r.run(ctx, s, r.deletion())
}

// provisioning returns the steps to a running machine. A step that has nothing to do only reads the inventory.
func (r *Reconciler) provisioning() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		r.connect, r.finishTask, r.ensureVM, r.ensureHardware, r.ensureDevices, r.ensureGroup, r.ensureModule, r.ensureMetadata, r.ensurePower, r.observe, r.ensureTags, r.ensureReady,
	}
}

func (r *Reconciler) run(ctx context.Context, s *scope, all []reconcile.Step[*scope]) (ctrl.Result, error) {
	p, err := reconcile.RunSteps(ctx, s, all...)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case p != reconcile.Proceed:
		return ctrl.Result{RequeueAfter: r.requeueIfTaskEnded(s, p.After())}, nil
	}
	return ctrl.Result{RequeueAfter: s.later}, nil
}

// save stores the object before the work is done, so that the following steps are distinguishable from the previous ones after
// a crash.
func (r *Reconciler) save(ctx context.Context, s *scope) error {
	if err := setReady(s.vm); err != nil {
		return err
	}
	if err := s.patch.Apply(ctx, r.Client, s.vm); err != nil {
		// The object is deleted once its finalizer is removed.
		if !s.vm.DeletionTimestamp.IsZero() {
			return client.IgnoreNotFound(err)
		}
		return err
	}
	r.written.Observe(s.vm)
	return nil
}

func (r *Reconciler) event(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.vm, nil, corev1.EventTypeNormal, reason, action, format, args...)
}

func (r *Reconciler) warn(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.vm, nil, corev1.EventTypeWarning, reason, action, format, args...)
}
