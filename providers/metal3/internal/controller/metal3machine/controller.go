// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3machine brings one bare-metal host from being free to being the Node of a Machine, and back.
package metal3machine

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/steps"
	"github.com/faultline-io/faultline/shared/watchfilter"
)

// Reconciler drives Metal3Machines.
type Reconciler struct {
	Client client.Client
	Hosts  *hosts.Hosts
	// Workloads reaches the Nodes of workload clusters.
	Workloads clustercache.ClusterCache
	Recorder  events.EventRecorder

	filter     watchfilter.Filter
	written    patch.Written
	controller controller.Controller
}

// scope is what one reconcile knows. It holds data only.
type scope struct {
	// cluster and infraCluster are nil when they do not exist; machine is nil when nothing owns the Metal3Machine.
	cluster      *clusterv1.Cluster
	infraCluster *infrav1.Metal3Cluster
	machine      *clusterv1.Machine
	// template is what the Metal3Machine was made from, nil when that is unknown or gone; lostTemplate names one that is gone.
	template     *infrav1.Metal3MachineTemplate
	lostTemplate string
	metal3       *infrav1.Metal3Machine
	patch        *patch.Patch
	// host is the one that the machine has; nil while it has none.
	host *bmov1alpha1.BareMetalHost
}

func (s *scope) key() client.ObjectKey {
	return client.ObjectKeyFromObject(s.metal3)
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines/finalizers,verbs=update
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
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Reconcile runs the steps that the machine still needs, up to the first that has to wait.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, reterr error) {
	metal3 := &infrav1.Metal3Machine{}
	if err := r.Client.Get(ctx, req.NamespacedName, metal3); err != nil {
		if apierrors.IsNotFound(err) {
			r.written.Forget(req.NamespacedName)
			r.Hosts.Book.Forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.filter.Passes(metal3) {
		r.Hosts.Book.Forget(req.NamespacedName)
		return ctrl.Result{}, nil // another manager's
	}
	if wait := r.written.StandBack(metal3); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	s, err := r.gather(ctx, metal3)
	if err != nil {
		return ctrl.Result{}, err
	}
	if (s.machine == nil || s.cluster == nil) && metal3.DeletionTimestamp.IsZero() {
		r.Hosts.Book.Forget(req.NamespacedName)
		return ctrl.Result{}, nil // the Machine controller sets the owner
	}
	defer func() {
		err := r.save(ctx, s)
		if apierrors.IsConflict(err) {
			result, err = ctrl.Result{RequeueAfter: patch.CatchUp}, nil // somebody else has just written
		}
		reterr = kerrors.NewAggregate([]error{reterr, err})
	}()
	if s.paused() {
		return r.run(ctx, s, []steps.Step[*scope]{r.pauseHost})
	}
	status.Paused(metal3, false)
	if !metal3.DeletionTimestamp.IsZero() {
		return r.run(ctx, s, r.deletion())
	}
	return r.run(ctx, s, r.provisioning())
}

// provisioning lists the steps to a Node. Each is a look when it has nothing to do.
func (r *Reconciler) provisioning() []steps.Step[*scope] {
	return []steps.Step[*scope]{
		r.prepare, r.tellUnlisted, r.awaitTemplate, r.associate, r.resumeHost, r.noteHosts, r.noteLabels,
		r.claimData, r.awaitData, r.configure, r.observe, r.linkNode,
	}
}

// deletion lists the steps that leave nothing behind. None of them looks at a failure domain, a cluster or a Secret, which
// may be gone.
func (r *Reconciler) deletion() []steps.Step[*scope] {
	return []steps.Step[*scope]{r.findHost, r.resumeHost, r.deprovision, r.releaseData, r.releaseHost}
}

func (r *Reconciler) run(ctx context.Context, s *scope, all []steps.Step[*scope]) (ctrl.Result, error) {
	p, err := steps.Run(ctx, s, all...)
	if apierrors.IsConflict(err) {
		// The host, or the machine, is about to be seen as it is.
		return ctrl.Result{RequeueAfter: patch.CatchUp}, nil
	}
	return p.Result(), err
}

func (s *scope) paused() bool {
	cluster := s.cluster
	if cluster == nil {
		cluster = &clusterv1.Cluster{}
	}
	return annotations.IsPaused(cluster, s.metal3)
}

// save writes metadata and spec first, because that changes the generation which the conditions are said to be of. All of
// them have just been looked at.
func (r *Reconciler) save(ctx context.Context, s *scope) error {
	err := s.patch.ApplySpec(ctx, r.Client, s.metal3)
	if err == nil && !released(s.metal3) {
		for i := range s.metal3.Status.Conditions {
			s.metal3.Status.Conditions[i].ObservedGeneration = s.metal3.Generation
		}
		if err := summarize(s.metal3); err != nil {
			return err
		}
		err = s.patch.Apply(ctx, r.Client, s.metal3)
	}
	if err == nil {
		r.written.Note(s.metal3)
	}
	if released(s.metal3) {
		return client.IgnoreNotFound(err)
	}
	return err
}

// released reports whether the object goes as soon as the API server has been told.
func released(metal3 *infrav1.Metal3Machine) bool {
	return !metal3.DeletionTimestamp.IsZero() && len(metal3.Finalizers) == 0
}

func (r *Reconciler) event(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.metal3, nil, corev1.EventTypeNormal, reason, action, format, args...)
}

func (r *Reconciler) warn(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.metal3, nil, corev1.EventTypeWarning, reason, action, format, args...)
}
