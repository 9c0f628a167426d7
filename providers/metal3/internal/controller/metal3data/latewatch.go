// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"
	"strings"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/ipamclaim"
	"github.com/faultline-io/faultline/shared/watch"
)

// lateWatch watches the kinds of metal3's IP address manager once a template first needs one. Watching them from the start would
// keep a manager from starting where they are not installed, and would waste memory where they are not used.
type lateWatch struct {
	mgr        ctrl.Manager
	controller controller.Controller
	reconciler *Reconciler

	mu        sync.Mutex
	completed int // number of completed steps; a step must not run twice
}

// start reports whether the kinds are installed. If so, they are watched when it returns.
func (w *lateWatch) start(ctx context.Context) (installed bool, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	steps := []func(context.Context) error{
		w.index,
		w.watch(&ipamv1.IPClaim{}, w.reconciler.dataOfIPClaim, predicate.Funcs{}),
		w.watch(&ipamv1.IPAddress{}, w.reconciler.dataOfIPAddress, watch.Created()),
		w.watch(newPoolMetadata(), w.reconciler.dataOfIPPool, watch.Created()),
	}
	if w.completed == 0 {
		if installed, err := w.installed(); err != nil || !installed {
			return false, err
		}
	}
	for ; w.completed < len(steps); w.completed++ {
		if err := steps[w.completed](ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (w *lateWatch) installed() (bool, error) {
	_, err := w.mgr.GetRESTMapper().RESTMapping(ipamv1.GroupVersion.WithKind(ipClaimKind).GroupKind(), ipamv1.GroupVersion.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		return false, fmt.Errorf("checking for the metal3 IP address manager: %w", err)
	}
	return err == nil, nil
}

func (w *lateWatch) index(ctx context.Context) error {
	if err := w.mgr.GetFieldIndexer().IndexField(ctx, &ipamv1.IPClaim{}, ipamclaim.OwnerIndex, ownedByData()); err != nil {
		return fmt.Errorf("indexing IPClaims by their owner: %w", err)
	}
	return nil
}

func (w *lateWatch) watch(kind client.Object, dataOf handler.MapFunc, filter predicate.Predicate) func(context.Context) error {
	return func(context.Context) error {
		if err := w.controller.Watch(source.Kind(w.mgr.GetCache(), kind, handler.EnqueueRequestsFromMapFunc(dataOf), filter)); err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		return nil
	}
}

func (r *Reconciler) dataOfIPClaim(ctx context.Context, o client.Object) []reconcile.Request {
	return r.dataOfClaimName(ctx, o, o.(*ipamv1.IPClaim).Spec.Pool.Name)
}

func (r *Reconciler) dataOfIPAddress(ctx context.Context, o client.Object) []reconcile.Request {
	claim := &ipamv1.IPClaim{}
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.(*ipamv1.IPAddress).Spec.Claim.Name}
	if err := r.Client.Get(ctx, key, claim); err != nil {
		return nil // the claim's own event follows
	}
	return r.dataOfIPClaim(ctx, claim)
}

// dataOfIPPool returns the data that waits for an address of a missing pool.
func (r *Reconciler) dataOfIPPool(ctx context.Context, pool client.Object) []reconcile.Request {
	claims := &ipamv1.IPClaimList{}
	if err := r.Client.List(ctx, claims, client.InNamespace(pool.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing IPClaims")
		return nil
	}
	var requests []reconcile.Request
	for i := range claims.Items {
		if claim := &claims.Items[i]; claim.Spec.Pool.Name == pool.GetName() && claim.Status.Address == nil {
			requests = append(requests, r.dataOfIPClaim(ctx, claim)...)
		}
	}
	return requests
}

// dataOfClaimName returns the data that owns the claim, and the data whose claim would have the same name and which therefore
// waits for the deletion of this one.
func (r *Reconciler) dataOfClaimName(ctx context.Context, claim client.Object, pool string) []reconcile.Request {
	names := map[string]bool{ipamclaim.OwnerOf(claim, infrav1.GroupVersion.WithKind(dataKind).GroupKind()): true}
	prefix, ok := strings.CutSuffix(claim.GetName(), claimName("", pool))
	if ok {
		names[prefix] = true
	}
	delete(names, "")
	var requests []reconcile.Request
	for name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: claim.GetNamespace(), Name: name}})
	}
	host := &bmov1alpha1.BareMetalHost{}
	if ok && r.Client.Get(ctx, client.ObjectKey{Namespace: claim.GetNamespace(), Name: prefix}, host) == nil {
		requests = append(requests, r.dataOfHost(ctx, host)...)
	}
	return requests
}
