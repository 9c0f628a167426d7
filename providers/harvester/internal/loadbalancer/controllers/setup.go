// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/health"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/migration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/watch"
)

// Options are set by flags.
type Options struct {
	// WatchFilter restricts the controllers to objects with this value of the watch label; "" means all. Addresses may come from any
	// pool.
	WatchFilter string
	// Pools and LoadBalancers are the numbers of objects reconciled concurrently.
	Pools, LoadBalancers int
	// HealthChecks is the maximum number of concurrent health checks; 0 for the default.
	HealthChecks int
	// Quarantine is the quarantine of released addresses, during which no other holder gets them; 0 for none.
	Quarantine time.Duration
	// AnyPool allows a load balancer to use every pool that it names, regardless of the scope of the pool.
	AnyPool bool
	// Dial connects to machines for health checks; nil for the default.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Metrics may be nil.
	Metrics prometheus.Registerer
}

// Add adds all controllers and what they share to the manager. No address is allocated before existing allocations have been taken over.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) error {
	addresses := ipam.NewAllocator(mgr.GetClient(), mgr.GetAPIReader()).WithQuarantine(o.Quarantine)
	if !o.AnyPool {
		addresses = addresses.WithScopes()
	}
	takeover := migration.New(mgr.GetClient(), mgr.GetAPIReader(), addresses, manager.Recorder(mgr, "migration"))
	if err := mgr.Add(takeover); err != nil {
		return fmt.Errorf("adding the migration: %w", err)
	}
	if err := (&IPPoolReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Addresses: addresses, Recorder: manager.Recorder(mgr, "ippool"),
		Filter: watch.Filter(o.WatchFilter),
	}).SetupWithManager(ctx, mgr, watch.Concurrency(o.Pools)); err != nil {
		return fmt.Errorf("adding IPPool controller: %w", err)
	}
	return addBalancers(ctx, mgr, o, takeover)
}

func addBalancers(ctx context.Context, mgr ctrl.Manager, o Options, addresses Addresses) error {
	checker, err := newChecker(o)
	if err != nil {
		return err
	}
	if err := (&LoadBalancerReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Addresses: addresses, Health: checker, Recorder: manager.Recorder(mgr, "loadbalancer"),
		Filter: watch.Filter(o.WatchFilter),
	}).SetupWithManager(ctx, mgr, watch.Concurrency(o.LoadBalancers)); err != nil {
		return fmt.Errorf("adding LoadBalancer controller: %w", err)
	}
	if o.Metrics != nil {
		if err := CountBalancers(mgr, o.Metrics); err != nil {
			return err
		}
	}
	if err := SetupGuestsWithManager(ctx, mgr, watch.Filter(o.WatchFilter), watch.Concurrency(o.LoadBalancers)); err != nil {
		return fmt.Errorf("adding controllers of virtual machines: %w", err)
	}
	return nil
}

func newChecker(o Options) (*health.Checker, error) {
	var metrics *health.Metrics
	if o.Metrics != nil {
		var err error
		if metrics, err = health.NewMetrics(o.Metrics); err != nil {
			return nil, err
		}
	}
	checker := health.New(cmp.Or(o.HealthChecks, health.DefaultConnections), metrics)
	if o.Dial != nil {
		checker.Dial = o.Dial
	}
	return checker, nil
}
