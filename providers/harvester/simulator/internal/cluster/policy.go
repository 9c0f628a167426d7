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
func AddResetPolicy(set *controllers.Set, clock *controllers.Clock, delay time.Duration) error {
	return set.Controller("policy").For(&corev1.Node{}).WatchesRawSource(set.EnqueueOnFaultChange(&corev1.NodeList{})).
		Complete(&resetPolicy{client: set.Client(), clock: clock, delay: delay, faults: set.Faults()})
}

// resetPolicy puts hosts out of service that have not responded for a while.
type resetPolicy struct {
	client client.Client
	clock  *controllers.Clock
	delay  time.Duration
	faults *controllers.FaultTable
}

// Reconcile checks one host.
func (r *resetPolicy) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{}
	if err := r.client.Get(ctx, req.NamespacedName, node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if HostReady(node) || r.faults.Has(controllers.NoReset, node) {
		r.clock.Forget(node.UID)
		return ctrl.Result{}, nil
	}
	if OutOfService(node) {
		return ctrl.Result{}, nil
	}
	if wait := r.clock.Remaining(node.UID, "reset", r.delay); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	addOutOfServiceTaint(node)
	if err := r.client.Update(ctx, node); controllers.IgnoreStale(err) != nil {
		return ctrl.Result{}, fmt.Errorf("putting host out of service: %w", err)
	}
	return ctrl.Result{}, nil
}
