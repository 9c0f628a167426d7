// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup puts the load balancer manager's controllers together. The manager's main and the integration tests both use it, so that
// what is tested is what runs.
package setup

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Options are what the command line decides.
type Options struct {
	// Pools and LoadBalancers are how many are reconciled at the same time.
	Pools, LoadBalancers int
}

// Add adds every controller to the manager, and what they share.
func Add(_ context.Context, _ ctrl.Manager, _ Options) error {
	return nil
}
