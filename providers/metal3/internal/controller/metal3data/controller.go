// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3data has the controllers from a claim to Secrets: that of Metal3DataTemplates creates a Metal3Data for every
// Metal3DataClaim, and that of Metal3Datas claims addresses for the machine and renders its metaData and networkData to Secrets.
package metal3data

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles Metal3Datas.
type Reconciler struct {
	Client client.Client
	// Cache reads the metadata of Secrets.
	Cache    client.Reader
	Recorder events.EventRecorder
	// NameClaimsByHost names claims for metal3 addresses after the host instead of the data. A host then keeps its addresses
	// whichever machine uses it, and pools can preallocate them.
	NameClaimsByHost bool

	filter  watch.Filter
	written patch.Expectations
	claimed patch.Repeats
	pools   []addressProvider
}

// addressProvider claims addresses from the pools of one API.
type addressProvider interface {
	// Serves reports whether the pool belongs to the API.
	Serves(pool render.Pool) bool
	// Address creates the claim if necessary and returns its address. Without an address it may return a problem for the user to
	// fix; a change of either enqueues the data.
	Address(ctx context.Context, s *scope, pool render.Pool) (address *render.Address, problem string, err error)
	// Release releases all addresses of the data.
	Release(ctx context.Context, data *infrav1.Metal3Data) error
}

// scope holds the data and everything that it is rendered from. A nil object does not exist or has not been found yet.
type scope struct {
	data          *infrav1.Metal3Data
	patch         *patch.Patch
	cluster       *clusterv1.Cluster
	previousError string // the error message that the status had
	template      *infrav1.Metal3DataTemplate
	objects
	retryAfter time.Duration // set if the data must be requeued after a time instead of by an event
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims;metal3datatemplates;metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=get;list;watch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipaddresses;ippools,verbs=get;list;watch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddresses,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create

// Reconcile renders the data once, when all objects that the template refers to exist.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.Metal3Data, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder, PausedOnlyWhenTrue: true,
		NewScope: r.newScope, ReconcileNormal: r.reconcileNormal, ReconcileDelete: r.reconcileDelete, Summarize: r.emitEvent,
	}.Run(ctx, req, &infrav1.Metal3Data{})
}

func (r *Reconciler) newScope(ctx context.Context, data *infrav1.Metal3Data, p *patch.Patch) (*scope, error) {
	cluster, err := reconcile.ClusterOf(ctx, r.Client, data)
	return &scope{data: data, patch: p, cluster: cluster, previousError: ptr.Deref(data.Status.ErrorMessage, "")}, err
}

// Owner returns the owning Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.cluster }

// reconcileNormal reports in the status what prevents rendering. The awaited objects enqueue the data.
func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) (ctrl.Result, error) {
	done, err := r.secretsExist(ctx, s.data)
	if err != nil {
		return ctrl.Result{}, err
	}
	reason, problem := infrav1.Metal3DataFailedReason, ""
	if !done {
		done, problem, err = r.renderData(ctx, s)
		var rejection *refused
		switch {
		case errors.As(err, &rejection):
			reason, problem, s.retryAfter = rejection.reason, rejection.Error(), rejection.retryAfter
		case err != nil:
			return ctrl.Result{}, err
		}
	}
	setStatus(s.data, done, reason, problem)
	return ctrl.Result{RequeueAfter: s.retryAfter}, nil
}

// requeueAfter requeues the data after a time, unless an event does so earlier; 0 has no effect.
func (s *scope) requeueAfter(after time.Duration) {
	if after > 0 {
		s.retryAfter = after
	}
}

// renderData claims addresses, waits for them, renders the data and stores it. It returns whether it is done, and a problem for
// the user to fix, if any. If neither is set, it waits for an event.
func (r *Reconciler) renderData(ctx context.Context, s *scope) (done bool, problem string, err error) {
	if problem, err = r.readObjects(ctx, s); err != nil || problem != "" || s.host == nil {
		return false, problem, err
	}
	nameSecrets(s)
	controllerutil.AddFinalizer(s.data, infrav1.DataFinalizer)
	// Stores finalizer and names before creating objects that are only removed with the data.
	if err := s.patch.StoreSpec(ctx, r.Client, s.data); err != nil {
		return false, "", err
	}
	in := s.input()
	pools, err := render.Pools(&s.template.Spec, in)
	if err != nil {
		return false, err.Error(), nil //nolint:nilerr // the user reads it in the status
	}
	if in.Addresses, problem, err = r.addresses(ctx, s, pools); err != nil || in.Addresses == nil {
		return false, problem, err
	}
	secrets, err := renderSecrets(s, in)
	if err != nil {
		return false, err.Error(), nil //nolint:nilerr // the user reads it in the status
	}
	return r.store(ctx, s, secrets)
}

// addresses claims all addresses at once, and returns nil until all of them are allocated.
func (r *Reconciler) addresses(ctx context.Context, s *scope, pools []render.Pool) (map[string]render.Address, string, error) {
	all, firstProblem := make(map[string]render.Address, len(pools)), ""
	for _, pool := range pools {
		for _, provider := range r.pools {
			if !provider.Serves(pool) {
				continue
			}
			address, problem, err := provider.Address(ctx, s, pool)
			if err != nil {
				return nil, "", err
			}
			if firstProblem == "" {
				firstProblem = problem
			}
			if address != nil {
				all[pool.Name] = *address
			}
			break
		}
	}
	if len(all) < len(pools) {
		return nil, firstProblem, nil
	}
	return all, "", nil
}

// emitEvent emits an event for a new problem.
func (r *Reconciler) emitEvent(_ context.Context, s *scope) error {
	if message := ptr.Deref(s.data.Status.ErrorMessage, ""); message != "" && message != s.previousError {
		r.Recorder.Eventf(s.data, nil, corev1.EventTypeWarning, "DataNotRendered", "Render", "%s", message)
	}
	return nil
}
