// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers has the controllers of the load balancer manager. That of LoadBalancers allocates addresses to them, and connects
// those for virtual machines to the machines: with a Service that kube-vip announces, and EndpointSlices of the healthy machines. A load
// balancer for a Service of a guest cluster is only an address, which is announced there. Add wires all controllers: main and the
// integration tests use it, so that they run the same code.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/health"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Addresses allocates addresses of pools.
type Addresses interface {
	// Claim allocates an address of the pool to the holder, or returns the one that it has. The error wraps allocation.ErrExhausted if
	// none is free, and is NotFound if the pool does not exist.
	Claim(ctx context.Context, pool, id string) (ipam.Claimed, error)
	// Give records that the holder has an address, as its status shows. The error wraps allocation.ErrHeld if it has another holder, and
	// allocation.ErrOutside if the pool does not contain it.
	Give(ctx context.Context, pool, id string, addr netip.Addr) error
	// Entitles reports whether a load balancer may have an address of the pool: it is in its scope, if scopes are enforced, or the pool
	// records an address for it.
	Entitles(ctx context.Context, pool *lbv1.IPPool, lb *lbv1.LoadBalancer) (bool, error)
	// Release releases the address of the holder. It returns nil if the holder has none or the pool does not exist.
	Release(ctx context.Context, pool, id string) error
}

// LoadBalancerReconciler reconciles LoadBalancers.
type LoadBalancerReconciler struct {
	Client client.Client
	// Live reads from the API server.
	Live      client.Reader
	Addresses Addresses
	Health    *health.Checker
	Recorder  events.EventRecorder
	// Filter ignores load balancers of other managers.
	Filter watch.Filter

	written patch.Expectations
	// confirmed maps load balancers to their addresses according to their pools. A status that differs was written by another client.
	confirmed sync.Map
}

// scope holds the state of one reconcile.
type scope struct {
	*LoadBalancerReconciler
	lb *lbv1.LoadBalancer
	// before is the stored load balancer.
	before *lbv1.LoadBalancer
	events []pendingEvent
	// again is the requeue interval; 0 for none.
	again time.Duration
}

// pendingEvent is an event that is recorded once the change that it reports is stored, so that retries do not repeat it.
type pendingEvent struct{ kind, reason, note string }

func (s *scope) recordEvent(kind, reason, note string, args ...any) {
	s.events = append(s.events, pendingEvent{kind, reason, fmt.Sprintf(note, args...)})
}

// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=ippools,verbs=get;list;watch
// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachines;virtualmachineinstances,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile allocates and connects a load balancer, or releases its address if it is being deleted.
func (r *LoadBalancerReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lb, err := reconcile.Find(ctx, r.Client, req.NamespacedName, &lbv1.LoadBalancer{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if lb == nil || !r.Filter.Passes(lb) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if wait := r.written.Backoff(lb); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if annotations.HasPaused(lb) {
		return ctrl.Result{}, nil
	}
	s := &scope{LoadBalancerReconciler: r, lb: lb, before: lb.DeepCopy()}
	if err := s.complete(ctx); err != nil {
		return reconcile.Outcome(ctrl.Result{}, err, nil)
	}
	if lb.DeletionTimestamp.IsZero() {
		err = s.balance(ctx)
	} else {
		err = s.finalize(ctx)
	}
	return reconcile.Outcome(ctrl.Result{RequeueAfter: s.again}, err, s.store(ctx))
}

func (r *LoadBalancerReconciler) forget(key types.NamespacedName) {
	r.Health.Remove(key)
	r.written.Forget(key)
	r.confirmed.Delete(key)
}

func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.lb) }

// balance allocates the address of the load balancer and, for virtual machines, reconciles its Service and EndpointSlices.
func (s *scope) balance(ctx context.Context) error {
	wanted, why, err := s.allocate(ctx)
	if err == nil {
		err = s.verifyStatus(ctx)
	}
	if err != nil {
		return s.failed(err)
	}
	var service *corev1.Service
	if isForVMs(s.lb) && s.lb.Status.AllocatedAddress.IP != "" {
		var reached problem
		if service, reached, err = s.serve(ctx); err != nil {
			return s.failed(err)
		}
		if why == (problem{}) {
			why = reached
		}
	}
	s.ready(why)
	return s.release(ctx, releasablePools(s.lb, service, wanted))
}

// failed reports an error in the condition, unless a retry resolves it.
func (s *scope) failed(err error) error {
	switch {
	case apierrors.IsConflict(err), errors.Is(err, patch.ErrBehind), errors.Is(err, context.Canceled):
	case errors.As(err, new(*patch.RemovedError)):
		s.ready(problem{faultlinev1.ReasonAnnotationsRemoved, err.Error()})
	default:
		s.ready(problem{reasonRefused, err.Error()})
	}
	return err
}

// ready sets the condition Ready, and queues an event if it has changed.
func (s *scope) ready(why problem) {
	setReady(s.lb, why, time.Now())
	before, message := ready(s.before)
	switch now, said := ready(s.lb); {
	case now == before && said == message:
	case now == corev1.ConditionTrue:
		s.recordEvent(corev1.EventTypeNormal, "Ready", "The load balancer has address %s", s.lb.Status.AllocatedAddress.IP)
	case before == corev1.ConditionTrue || why.reason != reasonWaiting && why.reason != reasonNoBackends:
		s.recordEvent(corev1.EventTypeWarning, why.reason, "%s", said)
	}
}

// release releases the load balancer's addresses in pools and removes the pools from its claims.
func (s *scope) release(ctx context.Context, pools []string) error {
	for _, pool := range pools {
		if err := s.Addresses.Release(ctx, pool, id(s.lb)); err != nil {
			s.ready(problem{reasonReleaseFails, fmt.Sprintf("releasing the address of IPPool %s failed: %s", pool, err)})
			return err
		}
		left := ipam.Claims(s.lb)
		for i := range left {
			if left[i] == pool {
				left = append(left[:i], left[i+1:]...)
				break
			}
		}
		setClaims(s.lb, left)
	}
	return nil
}

// store patches the changes of the load balancer relative to the object that was read: other clients write its finalizers, annotations
// and status, too. The status is not a subresource.
func (s *scope) store(ctx context.Context) error {
	data, err := client.MergeFrom(s.before).Data(s.lb)
	if err != nil {
		return fmt.Errorf("comparing load balancer: %w", err)
	}
	if string(data) != "{}" {
		err := s.written.Repeats.Write(ctx, s.Client, s.before, s.lb)
		if _, sent := patch.Sent(err); sent {
			s.written.Observe(s.lb)
			s.before = s.lb.DeepCopy()
			return err
		}
		if err != nil {
			if !s.before.DeletionTimestamp.IsZero() && apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("patching load balancer: %w", err)
		}
		s.written.Observe(s.lb)
	}
	s.before = s.lb.DeepCopy()
	for _, n := range s.events {
		s.Recorder.Eventf(s.lb, nil, n.kind, n.reason, "Reconcile", "%s", n.note)
	}
	s.events = nil
	return nil
}

// recordClaim stores, before an address is allocated, the finalizer and that the load balancer may hold an address of the pool.
func (s *scope) recordClaim(ctx context.Context, pool string) error {
	controllerutil.AddFinalizer(s.lb, lbv1.LoadBalancerFinalizer)
	if pool != "" && pool != s.lb.Status.AllocatedAddress.IPPool {
		setClaims(s.lb, append(ipam.Claims(s.lb), pool))
	}
	return s.store(ctx)
}
