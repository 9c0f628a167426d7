// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/guests"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/health"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/ippool"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/migration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/watch"
)

// Options are what the command line decides.
type Options struct {
	// WatchFilter limits it to objects with this value of the watch label; "" means all. Addresses may be of any pool.
	WatchFilter string
	// Pools and LoadBalancers are how many are reconciled at the same time.
	Pools, LoadBalancers int
	// HealthChecks is how many machines are connected to at the same time; 0 for the default.
	HealthChecks int
	// Rest is how long an address that was given back is given to nobody else; 0 for not at all.
	Rest time.Duration
	// AnyPool lets a load balancer have addresses of every pool that it names, whatever the pool's scope is.
	AnyPool bool
	// Dial connects to machines that are checked; nil for what does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Metrics may be nil.
	Metrics prometheus.Registerer
}

// Add adds every controller to the manager, and what they share. Nobody is given an address before what others have given is known.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) error {
	addresses := ipam.NewAllocator(mgr.GetClient(), mgr.GetAPIReader()).WithRest(o.Rest)
	if !o.AnyPool {
		addresses = addresses.WithScopes()
	}
	takeover := migration.New(mgr.GetClient(), mgr.GetAPIReader(), addresses, manager.Recorder(mgr, "migration"))
	if err := mgr.Add(takeover); err != nil {
		return fmt.Errorf("adding the migration: %w", err)
	}
	if err := (&ippool.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Addresses: addresses, Recorder: manager.Recorder(mgr, "ippool"),
		Filter: watch.Filter(o.WatchFilter),
	}).SetupWithManager(ctx, mgr, watch.Workers(o.Pools)); err != nil {
		return fmt.Errorf("adding IPPool controller: %w", err)
	}
	return addBalancers(ctx, mgr, o, takeover)
}

func addBalancers(ctx context.Context, mgr ctrl.Manager, o Options, addresses Addresses) error {
	checker, err := newChecker(o)
	if err != nil {
		return err
	}
	if err := (&Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Addresses: addresses, Health: checker, Recorder: manager.Recorder(mgr, "loadbalancer"),
		Filter: watch.Filter(o.WatchFilter),
	}).SetupWithManager(ctx, mgr, watch.Workers(o.LoadBalancers)); err != nil {
		return fmt.Errorf("adding LoadBalancer controller: %w", err)
	}
	if o.Metrics != nil {
		if err := CountBalancers(mgr, o.Metrics); err != nil {
			return err
		}
	}
	if err := guests.SetupWithManager(ctx, mgr, watch.Filter(o.WatchFilter), watch.Workers(o.LoadBalancers)); err != nil {
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
