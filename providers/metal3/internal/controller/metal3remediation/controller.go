// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3remediation remediates a machine by power cycling its host, and has the machine replaced if that does not help.
package metal3remediation

import (
	"context"
	"errors"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles Metal3Remediations.
type Reconciler struct {
	Client client.Client
	Hosts  *hosts.Hosts
	// Workloads provides clients for workload clusters.
	Workloads clustercache.ClusterCache
	Clock     clock.PassiveClock
	Recorder  events.EventRecorder

	filter     watch.Filter
	written    patch.Expectations
	controller controller.Controller
}

// scope holds the state of one reconcile. It holds data and the pending changes of the remediation.
type scope struct {
	remediation *infrav1.Metal3Remediation
	// machine is nil if it was deleted; cluster is nil if it was deleted or is unknown.
	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	// host is nil if the machine has none.
	host *bmov1alpha1.BareMetalHost
	// node is nil until it has been read, or if it does not exist.
	node  *corev1.Node
	patch *patch.Patch
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile executes the next step of the remediation.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.Metal3Remediation, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder,
		NewScope: r.newScope, ReconcileNormal: r.remediate, ReconcileDelete: r.remediate,
	}.Run(ctx, req, &infrav1.Metal3Remediation{})
}

func (r *Reconciler) remediate(ctx context.Context, s *scope) (ctrl.Result, error) {
	after, err := r.proceed(ctx, s)
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		err = nil // the connection triggers an event
	}
	return ctrl.Result{RequeueAfter: after}, err
}

// proceed executes the next step, or cleans up if the remediation or its machine is being deleted.
func (r *Reconciler) proceed(ctx context.Context, s *scope) (time.Duration, error) {
	if !s.remediation.DeletionTimestamp.IsZero() || s.machine == nil || !s.machine.DeletionTimestamp.IsZero() {
		return r.clear(ctx, s)
	}
	state := &s.remediation.Status
	if state.Phase != "" && state.LastRemediated == nil {
		state.LastRemediated = r.now()
	}
	situation, err := r.observe(ctx, s)
	if err != nil {
		return 0, err
	}
	if situation.phase == infrav1.RemediationRunning {
		if err := r.keepFinalizer(ctx, s); err != nil {
			return 0, err
		}
	}
	if situation.backedUp {
		if err := r.watchNodes(ctx, s); err != nil {
			return 0, err
		}
	}
	next := situation.next()
	if err := r.act(ctx, s, next.act); err != nil {
		return next.after, err
	}
	r.record(s, next)
	return next.after, nil
}

// keepFinalizer adds the finalizer if it was removed, or not stored by the API server. Without it, nothing would power the host on and take
// the Node back into service.
func (r *Reconciler) keepFinalizer(ctx context.Context, s *scope) error {
	if !controllerutil.AddFinalizer(s.remediation, infrav1.RemediationFinalizer) {
		return nil
	}
	return s.patch.StoreSpec(ctx, r.Client, s.remediation)
}

// record writes the result of the step. It adds the finalizer before anything is done to the host.
func (r *Reconciler) record(s *scope, next step) {
	state := &s.remediation.Status
	if next.try {
		controllerutil.AddFinalizer(s.remediation, infrav1.RemediationFinalizer)
		state.RetryCount++
		state.LastRemediated = r.now()
	}
	if next.phase != "" {
		state.Phase = next.phase
	}
	r.report(s, next)
}

func (r *Reconciler) now() *metav1.Time {
	now := metav1.NewTime(r.Clock.Now())
	return &now
}

// Owner returns the owning Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.cluster }

// newScope reads all objects except the Node.
func (r *Reconciler) newScope(ctx context.Context, remediation *infrav1.Metal3Remediation, p *patch.Patch) (*scope, error) {
	s := &scope{remediation: remediation, patch: p}
	machine, err := reconcile.OwnerMachine(ctx, r.Client, remediation)
	if err != nil || machine == nil {
		return s, err
	}
	s.machine = machine
	key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.ClusterName}
	if s.cluster, err = reconcile.Find(ctx, r.Client, key, &clusterv1.Cluster{}); err != nil {
		return nil, err
	}
	s.host, err = r.hostOf(ctx, machine)
	return s, err
}

// hostOf returns the host of the Machine, or nil.
func (r *Reconciler) hostOf(ctx context.Context, machine *clusterv1.Machine) (*bmov1alpha1.BareMetalHost, error) {
	key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name}
	metal3 := &infrav1.Metal3Machine{}
	if err := r.Client.Get(ctx, key, metal3); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	name := hosts.Named(metal3)
	if name == "" {
		return nil, nil
	}
	return r.Hosts.Recover(ctx, key, name)
}
