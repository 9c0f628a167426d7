// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// AddResetPolicy adds the controller that simulates Harvester's setting vm-force-reset-policy, with the given delay.
func AddResetPolicy(set *controllers.Set, clock *controllers.Clock, takes time.Duration) error {
	return set.Controller("policy").For(&corev1.Node{}).WatchesRawSource(set.Wakening(&corev1.NodeList{})).
		Complete(&policy{client: set.Client(), clock: clock, takes: takes, troubles: set.Troubles()})
}

// policy puts hosts out of service that have not responded for a while.
type policy struct {
	client   client.Client
	clock    *controllers.Clock
	takes    time.Duration
	troubles *controllers.TroubleTable
}

// Reconcile checks one host.
func (r *policy) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{}
	if err := r.client.Get(ctx, req.NamespacedName, node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if Alive(node) || r.troubles.Has(controllers.NoReset, node) {
		r.clock.Forget(node.UID)
		return ctrl.Result{}, nil
	}
	if OutOfService(node) {
		return ctrl.Result{}, nil
	}
	if wait := r.clock.Left(node.UID, "reset", r.takes); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	giveUp(node)
	if err := r.client.Update(ctx, node); controllers.Settled(err) != nil {
		return ctrl.Result{}, fmt.Errorf("putting host out of service: %w", err)
	}
	return ctrl.Result{}, nil
}
