// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const (
	// rebalancer is the name of the controller that rebalances control planes.
	rebalancer = "rebalance"
	// spreader is the name of the controller that spreads workers.
	spreader = "spread"
	// stillFor is how long a manager with many objects must do nothing to count as idle.
	stillFor = 5 * time.Second
)

// clusterStart holds the cost of restarting a manager whose clusters already exist.
type clusterStart struct {
	// reported is the number of seconds until the last cluster had the conditions ControlPlaneBalanced and WorkersBalanced, if they are
	// expected.
	reported float64
	// start is the cost until the manager was idle, and rest the cost while idle.
	start, rest benchmark.Cost
	// rss and peak are the manager's idle and highest memory in bytes; heap is the part of rss that its heap uses.
	rss, peak, heap int64
}

// clusters is a scenario with many control planes.
type clusters struct {
	noCalls

	in    *benchmark.Environment
	all   []*spreadCluster
	watch time.Duration
	// off is the manager with rebalance Off and without spreading of workers, spread with Advise and with spreading. uneven is the number
	// of clusters with machines to move, and change the cost of a status change of every control plane.
	off, spread clusterStart
	uneven      int
	change      benchmark.Cost
}

func (c *clusters) measure(ctx context.Context) error {
	if err := c.make(ctx); err != nil {
		return err
	}
	var err error
	c.in.Progressf("starting the manager while spreading is disabled")
	if c.off, err = c.start(ctx, func(context.Context) error { return nil }); err != nil {
		return err
	}
	if err := c.in.Kill(); err != nil {
		return err
	}
	if err := c.each(ctx, (*spreadCluster).spread); err != nil {
		return err
	}
	c.in.Progressf("starting the manager while spreading is enabled")
	c.spread, err = c.start(ctx, func(ctx context.Context) (err error) {
		c.uneven, err = c.waitForConditions(ctx)
		return err
	})
	if err != nil {
		return err
	}
	c.in.Progressf("changing every control plane")
	c.change, err = c.in.During(ctx, c, func() error {
		if err := c.each(ctx, (*spreadCluster).report); err != nil {
			return err
		}
		return c.still(ctx)
	})
	c.in.Add(c.rows()...)
	n := len(c.all)
	c.in.Detail("clusters, start of the manager, spread", n, c.spread.start)
	c.in.Detail("clusters, start of the manager, not spread", n, c.off.start)
	c.in.Detail("idle clusters, spread", n, c.spread.rest)
	c.in.Detail("clusters that report a change", n, c.change)
	return err
}

func (c *clusters) rows() []benchmark.Row {
	on, off, n := c.spread, c.off, float64(len(c.all))
	resting := fmt.Sprintf("in %s of idling", c.watch)
	requests := func(name string, spread, not benchmark.Cost) benchmark.Row {
		return both("Kubernetes requests a cluster "+name, "%.2f", float64(spread.Work())/n, float64(not.Work())/n)
	}
	return []benchmark.Row{
		benchmark.Figure("of these not balanced", "%.0f", float64(c.uneven)),
		benchmark.Figure("seconds from the manager's start until ControlPlaneBalanced is set on all", "%.1f", on.reported),
		requests("from the start until it is idle", on.start, off.start),
		both("CPU-seconds of the manager until then", "%.1f", on.start.CPU, off.start.CPU),
		both("CPU-seconds of the API server until then", "%.1f", on.start.ServerCPU, off.start.ServerCPU),
		both("MiB of the idle manager", "%.0f", mib(on.rss), mib(off.rss)).Below(aimClustersMemory),
		both("MiB of the manager at its peak", "%.0f", mib(on.peak), mib(off.peak)).Below(aimClustersMemory),
		both("MiB of its idle heap", "%.0f", mib(on.heap), mib(off.heap)),
		requests(resting, on.rest, off.rest).Zero(),
		both("CPU-seconds of the manager "+resting, "%.2f", on.rest.CPU, off.rest.CPU),
		benchmark.Figure("CPU-milliseconds of the manager a decision", "%.1f", 1000*c.change.CPU/n).Below(aimDecision),
		benchmark.Figure("Kubernetes requests a decision", "%.2f", float64(c.change.Work())/n),
	}
}

// make creates the clusters, lets the manager reconcile them once, and stops it.
func (c *clusters) make(ctx context.Context) error {
	if err := c.withoutManager(ctx); err != nil {
		return err
	}
	c.in.Progressf("making %d clusters", len(c.all))
	if err := c.each(ctx, (*spreadCluster).create); err != nil {
		return err
	}
	c.in.Progressf("letting the manager see them for the first time")
	if _, err := c.in.FromStart(ctx, c, func() error { return c.initialize(ctx) }); err != nil {
		return err
	}
	return c.in.Kill()
}

// withoutManager stops the manager, and disables admission, which it would serve.
func (c *clusters) withoutManager(ctx context.Context) error {
	for _, kind := range []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}} {
		if err := c.in.Client.DeleteAllOf(ctx, kind); err != nil {
			return fmt.Errorf("disabling admission: %w", err)
		}
	}
	if err := c.in.Kill(); err != nil {
		return err
	}
	probe := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "probe"}}
	probe.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: provider.Endpoint().Host, Port: provider.Endpoint().Port}
	var last error
	err := wait.PollUntilContextCancel(ctx, provider.PollInterval, true, func(ctx context.Context) (bool, error) {
		last = c.in.Client.Create(ctx, probe.DeepCopy(), client.DryRunAll)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until admission is disabled: %w: %w", provider.Because(ctx, err), last)
	}
	return nil
}

// each runs a function for every cluster.
func (c *clusters) each(ctx context.Context, do func(*spreadCluster, context.Context, client.Client) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce)
	for _, p := range c.all {
		group.Go(func() error { return do(p, ctx, c.in.Client) })
	}
	return group.Wait()
}

// initialize waits until the manager has published failure domains and assigned a host to every machine, then does the work of
// Cluster API, and waits until the manager is idle.
func (c *clusters) initialize(ctx context.Context) error {
	published := func(m *infrav1.Metal3Cluster) bool {
		return conditions.IsTrue(m, infrav1.Metal3ClusterFailureDomainsReadyCondition)
	}
	if err := c.await(ctx, published); err != nil {
		return err
	}
	var machines []string
	for _, p := range c.all {
		for i := range controlPlaneMachines {
			machines = append(machines, p.machine(i))
		}
	}
	ready := func(m *infrav1.Metal3Machine) bool { return conditions.IsTrue(m, clusterv1.ReadyCondition) }
	if _, err := benchmark.Await(ctx, c.objects(&infrav1.Metal3MachineList{}), machines, ready); err != nil {
		return err
	}
	if err := c.each(ctx, (*spreadCluster).copyDomains); err != nil {
		return err
	}
	return c.still(ctx)
}

// objects returns the objects of a kind in all namespaces.
func (c *clusters) objects(kind client.ObjectList) benchmark.Objects {
	return benchmark.Objects{Client: c.in.Client, Kind: kind, Namespace: metav1.NamespaceAll}
}

func (c *clusters) await(ctx context.Context, done func(*infrav1.Metal3Cluster) bool) error {
	names := make([]string, 0, len(c.all))
	for _, p := range c.all {
		names = append(names, p.cluster.Name)
	}
	_, err := benchmark.Await(ctx, c.objects(&infrav1.Metal3ClusterList{}), names, done)
	return err
}

// waitForConditions waits until each cluster reports whether its control plane and its workers are balanced, verifies that, and
// returns the number of unbalanced control planes.
func (c *clusters) waitForConditions(ctx context.Context) (uneven int, err error) {
	reasons := map[string]string{}
	err = c.await(ctx, func(m *infrav1.Metal3Cluster) bool {
		reasons[m.Name] = conditions.GetReason(m, faultlinev1.ControlPlaneBalancedCondition)
		return reasons[m.Name] != "" && conditions.IsTrue(m, faultlinev1.WorkersBalancedCondition)
	})
	if err != nil {
		return 0, err
	}
	for _, p := range c.all {
		want := faultlinev1.ReasonBalanced
		if !p.even {
			want = faultlinev1.ReasonNotBalanced
			uneven++
		}
		if got := reasons[p.cluster.Name]; got != want {
			return 0, fmt.Errorf("checking conditions: %s of Metal3Cluster %s has the reason %s, want %s", faultlinev1.ControlPlaneBalancedCondition, p.cluster.Name, got, want)
		}
	}
	return uneven, nil
}

// start starts the killed manager. It returns the cost until the clusters report their balance and the manager is idle, and then
// the cost while idle.
func (c *clusters) start(ctx context.Context, wait func(context.Context) error) (s clusterStart, err error) {
	began := time.Now()
	s.start, err = c.in.FromStart(ctx, c, func() error {
		if err := wait(ctx); err != nil {
			return err
		}
		s.reported = time.Since(began).Seconds()
		return c.still(ctx)
	})
	if err != nil {
		return s, err
	}
	c.in.Progressf("watching the idle manager for %s", c.watch)
	if s.rest, err = c.in.During(ctx, c, func() error { return provider.Pause(ctx, c.watch) }); err != nil {
		return s, err
	}
	if s.heap, err = c.in.Heap(ctx); err != nil {
		return s, err
	}
	s.rss, s.peak, err = c.in.Memory()
	return s, err
}

// still waits until the manager has reconciled every cluster and is idle.
func (c *clusters) still(ctx context.Context) error {
	last, err := c.in.Sample(ctx, c)
	for err == nil {
		var now benchmark.Cost
		if err = provider.Pause(ctx, stillFor); err != nil {
			break
		}
		if now, err = c.in.Sample(ctx, c); err != nil {
			break
		}
		did := now.Minus(last)
		if min(now.Reconciles[rebalancer], now.Reconciles[spreader]) >= len(c.all) &&
			did.Reconciles.Sum(benchmark.All)+did.Work() == 0 {
			return nil
		}
		last = now
	}
	return fmt.Errorf("waiting for the manager to become idle: %w", err)
}
