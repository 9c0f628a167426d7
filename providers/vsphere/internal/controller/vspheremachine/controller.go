// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vspheremachine decides where a machine goes and mirrors the state of its virtual machine.
package vspheremachine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles VSphereMachines.
type Reconciler struct {
	Client client.Client
	// Live reads from the API server, bypassing the cache.
	Live     client.Reader
	Recorder events.EventRecorder

	filter  watch.Filter
	written patch.Expectations
	others  patch.Repeats // for VSphereVMs and Machines
}

type scope struct {
	// cluster and infraCluster are nil if they do not exist.
	cluster      *clusterv1.Cluster
	infraCluster *infrav1.VSphereCluster
	machine      *clusterv1.Machine
	infra        *infrav1.VSphereMachine
	patch        *patch.Patch
	vm           *infrav1.VSphereVM // nil until it exists
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachinetemplates;vsphereclustertemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines/status,verbs=get;list;watch

// Reconcile creates the VSphereVM once the machine's placement is decided, and mirrors its state.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.VSphereMachine, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder, V1Beta1: conversion.MachineConditions(), Finalizer: infrav1.MachineFinalizer,
		NewScope: r.newScope, Delay: assignmentGrace, ReconcileNormal: r.reconcileNormal, ReconcileDelete: r.reconcileDelete, Summarize: summarize,
	}.Run(ctx, req, &infrav1.VSphereMachine{})
}

func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) (ctrl.Result, error) {
	s.infra.OwnerReferences = withoutCluster(s.infra.OwnerReferences)
	if s.vm == nil {
		if placed, err := r.ensureVM(ctx, s); err != nil || !placed {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.mirror(ctx, s)
}

// newScope reads the objects on which the machine depends. It returns nil while the machine has no owner, unless it is being
// deleted, which needs none.
func (r *Reconciler) newScope(ctx context.Context, infra *infrav1.VSphereMachine, p *patch.Patch) (*scope, error) {
	of, leave, err := reconcile.OwnersOf(ctx, r.Client, infra, &infrav1.VSphereCluster{})
	if err != nil || leave {
		return nil, err
	}
	s := &scope{infra: infra, patch: p, machine: of.Machine, cluster: of.Cluster, infraCluster: of.InfraCluster}
	s.vm, err = findVM(ctx, r.Client, s)
	return s, err
}

// Owner returns the Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.cluster }

// findVM returns the machine's VSphereVM. Its name is derived from the machine, so there is at most one.
func findVM(ctx context.Context, reader client.Reader, s *scope) (*infrav1.VSphereVM, error) {
	name, err := vmName(s)
	if err != nil {
		return nil, nil //nolint:nilerr // placeVM reports it; nothing can have been created under a name that cannot be made
	}
	vm := &infrav1.VSphereVM{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: s.infra.Namespace, Name: name}, vm); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return vm, nil
}

func (r *Reconciler) warn(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.infra, nil, corev1.EventTypeWarning, reason, action, format, args...)
}
