// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vspheremachine decides where a machine goes and mirrors what becomes of its virtual machine.
package vspheremachine

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watchfilter"
)

// Reconciler drives VSphereMachines.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache.
	Live     client.Reader
	Recorder events.EventRecorder

	filter  watchfilter.Filter
	written patch.Written
}

type scope struct {
	cluster      *clusterv1.Cluster
	infraCluster *infrav1.VSphereCluster
	machine      *clusterv1.Machine
	vsphere      *infrav1.VSphereMachine
	patch        *patch.Patch
	vm           *infrav1.VSphereVM // nil until it exists
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachinetemplates;vsphereclustertemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines;machines/status,verbs=get;list;watch;patch

// Reconcile creates the VSphereVM once the machine's place is known, and mirrors it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, reterr error) {
	vsphere := &infrav1.VSphereMachine{}
	if err := r.Client.Get(ctx, req.NamespacedName, vsphere); err != nil {
		r.written.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.filter.Passes(vsphere) {
		return ctrl.Result{}, nil // another manager's
	}
	if wait := r.written.StandBack(vsphere); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	s, err := r.gather(ctx, vsphere)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	if status.Paused(vsphere, annotations.IsPaused(s.cluster, vsphere)) {
		return ctrl.Result{}, s.patch.Apply(ctx, r.Client, vsphere)
	}
	defer func() {
		if err := r.save(ctx, s); err != nil {
			reterr = kerrors.NewAggregate([]error{reterr, err})
		}
	}()
	if !vsphere.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.reconcileDelete(ctx, s)
	}
	controllerutil.AddFinalizer(vsphere, infrav1.MachineFinalizer)
	if s.vm == nil {
		if placed, err := r.makeVM(ctx, s); err != nil || !placed {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.mirror(ctx, s)
}

// gather reads everything that the machine depends on. It returns nil while the machine has no owner yet, except when it
// is being deleted, which needs none.
func (r *Reconciler) gather(ctx context.Context, vsphere *infrav1.VSphereMachine) (*scope, error) {
	p := patch.From(vsphere)
	s := &scope{vsphere: vsphere, cluster: &clusterv1.Cluster{}, patch: &p}
	machine, err := util.GetOwnerMachine(ctx, r.Client, vsphere.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	s.machine = machine
	if cluster, err := util.GetClusterFromMetadata(ctx, r.Client, vsphere.ObjectMeta); err == nil {
		s.cluster = cluster
		if s.infraCluster, err = r.infrastructure(ctx, cluster); err != nil {
			return nil, err
		}
	} else if !apierrors.IsNotFound(err) && !errors.Is(err, util.ErrNoCluster) {
		return nil, err
	}
	if vsphere.DeletionTimestamp.IsZero() && (s.machine == nil || s.cluster.Name == "") {
		return nil, nil
	}
	s.vm, err = findVM(ctx, r.Client, s)
	return s, err
}

func (r *Reconciler) infrastructure(ctx context.Context, cluster *clusterv1.Cluster) (*infrav1.VSphereCluster, error) {
	infra := &infrav1.VSphereCluster{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	if err := r.Client.Get(ctx, key, infra); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading VSphereCluster %s: %w", key, err)
	}
	return infra, nil
}

// findVM returns the machine's VSphereVM. Its name follows from the machine, so there can be one only.
func findVM(ctx context.Context, reader client.Reader, s *scope) (*infrav1.VSphereVM, error) {
	name, err := vmName(s)
	if err != nil {
		return nil, nil //nolint:nilerr // ensureVM reports it; nothing can have been created under a name that cannot be made
	}
	vm := &infrav1.VSphereVM{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: s.vsphere.Namespace, Name: name}, vm); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return vm, nil
}

func (r *Reconciler) save(ctx context.Context, s *scope) error {
	if err := summarize(s.vsphere); err != nil {
		return err
	}
	err := s.patch.Apply(ctx, r.Client, s.vsphere)
	if err == nil {
		r.written.Note(s.vsphere)
	}
	if !s.vsphere.DeletionTimestamp.IsZero() {
		return client.IgnoreNotFound(err)
	}
	return err
}

func (r *Reconciler) warn(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.vsphere, nil, corev1.EventTypeWarning, reason, action, format, args...)
}
