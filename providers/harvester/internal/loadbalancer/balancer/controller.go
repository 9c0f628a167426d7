// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package balancer gives load balancers their addresses, and has those for virtual machines lead to the machines: by a Service that kube-vip
// announces, and EndpointSlices of the machines that answer. A load balancer for a Service of a guest cluster is an address only, which is
// announced there. Add puts all controllers of the load balancer manager together: its main and the integration tests both use it, so that what is
// tested is what runs.
package balancer

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

// Addresses gives addresses of pools.
type Addresses interface {
	// Claim gives the holder an address of the pool: the same again when it has one. The error wraps allocation.ErrExhausted when none is free,
	// and is NotFound when there is no such pool.
	Claim(ctx context.Context, pool, id string) (ipam.Claimed, error)
	// Give gives the holder an address that it has already, as its status shows. The error wraps allocation.ErrHeld when another has it, and
	// allocation.ErrOutside when the pool does not have it.
	Give(ctx context.Context, pool, id string, addr netip.Addr) error
	// Entitles reports whether a load balancer may have an address of the pool: it is in its scope, where that is a boundary, or the pool says
	// that it has one.
	Entitles(ctx context.Context, pool *lbv1.IPPool, lb *lbv1.LoadBalancer) (bool, error)
	// Release takes the holder's address back. It is nil when the holder has none, or there is no such pool.
	Release(ctx context.Context, pool, id string) error
}

// Reconciler drives LoadBalancers.
type Reconciler struct {
	Client client.Client
	// Live reads what is stored.
	Live      client.Reader
	Addresses Addresses
	Health    *health.Checker
	Recorder  events.EventRecorder
	// Filter drops the load balancers of other managers.
	Filter watch.Filter

	written patch.Written
	// confirmed is which address each load balancer has according to its pool, by its name. What a status says beside that has been written
	// by somebody else.
	confirmed sync.Map
}

// scope is what one reconcile knows.
type scope struct {
	*Reconciler
	lb *lbv1.LoadBalancer
	// before is the load balancer as it is stored.
	before *lbv1.LoadBalancer
	news   []news
	// again is when to look again; 0 for not before something changes.
	again time.Duration
}

// news is an event that is told when what it is about has been stored: before that it would be told again and again.
type news struct{ kind, reason, note string }

func (s *scope) tell(kind, reason, note string, args ...any) {
	s.news = append(s.news, news{kind, reason, fmt.Sprintf(note, args...)})
}

// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=ippools,verbs=get;list;watch
// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachines;virtualmachineinstances,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile gives a load balancer what it wants, or takes it back.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lb, err := reconcile.Find(ctx, r.Client, req.NamespacedName, &lbv1.LoadBalancer{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if lb == nil || !r.Filter.Passes(lb) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if wait := r.written.StandBack(lb); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if annotations.HasPaused(lb) {
		return ctrl.Result{}, nil
	}
	s := &scope{Reconciler: r, lb: lb, before: lb.DeepCopy()}
	if err := s.complete(ctx); err != nil {
		return reconcile.Outcome(ctrl.Result{}, err, nil)
	}
	if lb.DeletionTimestamp.IsZero() {
		err = s.balance(ctx)
	} else {
		err = s.end(ctx)
	}
	return reconcile.Outcome(ctrl.Result{RequeueAfter: s.again}, err, s.store(ctx))
}

func (r *Reconciler) forget(key types.NamespacedName) {
	r.Health.Remove(key)
	r.written.Forget(key)
	r.confirmed.Delete(key)
}

func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.lb) }

// balance gives the load balancer its address and, for virtual machines, what leads to them.
func (s *scope) balance(ctx context.Context) error {
	wanted, why, err := s.allocate(ctx)
	if err == nil {
		err = s.prove(ctx)
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
	return s.giveBack(ctx, surplus(s.lb, service, wanted))
}

// failed shows an error, unless the next try ends it.
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

// ready says whether the load balancer is ready, and tells it when that has changed.
func (s *scope) ready(why problem) {
	setReady(s.lb, why, time.Now())
	before, message := ready(s.before)
	switch now, said := ready(s.lb); {
	case now == before && said == message:
	case now == corev1.ConditionTrue:
		s.tell(corev1.EventTypeNormal, "Ready", "The load balancer has address %s", s.lb.Status.AllocatedAddress.IP)
	case before == corev1.ConditionTrue || why.reason != reasonWaiting && why.reason != reasonNoBackends:
		s.tell(corev1.EventTypeWarning, why.reason, "%s", said)
	}
}

// giveBack releases the load balancer's addresses in pools, and has it claim nothing there any more.
func (s *scope) giveBack(ctx context.Context, pools []string) error {
	for _, pool := range pools {
		if err := s.Addresses.Release(ctx, pool, id(s.lb)); err != nil {
			s.ready(problem{reasonReleaseFails, fmt.Sprintf("giving back the address of IPPool %s: %s", pool, err)})
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

// store sends what has changed of the load balancer, as it was read: its finalizers, annotations and status are written by others, too. The
// status is no resource of its own.
func (s *scope) store(ctx context.Context) error {
	data, err := client.MergeFrom(s.before).Data(s.lb)
	if err != nil {
		return fmt.Errorf("comparing load balancer: %w", err)
	}
	if string(data) != "{}" {
		err := s.written.Repeats.Write(ctx, s.Client, s.before, s.lb)
		if _, sent := patch.Sent(err); sent {
			s.written.Note(s.lb)
			s.before = s.lb.DeepCopy()
			return err
		}
		if err != nil {
			if !s.before.DeletionTimestamp.IsZero() && apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("patching load balancer: %w", err)
		}
		s.written.Note(s.lb)
	}
	s.before = s.lb.DeepCopy()
	for _, n := range s.news {
		s.Recorder.Eventf(s.lb, nil, n.kind, n.reason, "Reconcile", "%s", n.note)
	}
	s.news = nil
	return nil
}

// promise stores that the load balancer may hold an address of the pool, and that it is kept until that is given back, before there is one.
func (s *scope) promise(ctx context.Context, pool string) error {
	controllerutil.AddFinalizer(s.lb, lbv1.LoadBalancerFinalizer)
	if pool != "" && pool != s.lb.Status.AllocatedAddress.IPPool {
		setClaims(s.lb, append(ipam.Claims(s.lb), pool))
	}
	return s.store(ctx)
}
