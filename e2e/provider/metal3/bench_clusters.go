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

// clusters is a scenario with many control planes. Their manager is restarted once they exist.
type clusters struct {
	in    *benchmark.Environment
	all   []*spreadCluster
	watch time.Duration
	// reported is the number of seconds until the last cluster had the conditions ControlPlaneBalanced and WorkersBalanced.
	reported float64
	// start is the cost until the manager was idle, rest the cost while idle, and change that of a status change of every control plane.
	start, rest, change benchmark.Cost
	// rss and peak are the manager's idle and highest memory in bytes.
	rss, peak int64
	// uneven is the number of clusters with machines to move.
	uneven int
}

func (c *clusters) measure(ctx context.Context) error {
	if err := c.make(ctx); err != nil {
		return err
	}
	if err := c.each(ctx, (*spreadCluster).spread); err != nil {
		return err
	}
	if err := c.restart(ctx); err != nil {
		return err
	}
	c.in.Progressf("changing every control plane")
	var err error
	c.change, err = c.in.During(ctx, func() error {
		if err := c.each(ctx, (*spreadCluster).report); err != nil {
			return err
		}
		return c.in.Rest(ctx)
	})
	c.in.Add(c.rows()...)
	n := len(c.all)
	c.in.Detail("clusters, start of the manager", n, c.start)
	c.in.Detail("idle clusters", n, c.rest)
	c.in.Detail("clusters that report a change", n, c.change)
	return err
}

func (c *clusters) rows() []benchmark.Row {
	n := float64(len(c.all))
	return []benchmark.Row{
		benchmark.Figure("of these not balanced", "%.0f", float64(c.uneven)),
		benchmark.Figure("seconds from the manager's start until ControlPlaneBalanced is set on all", "%.1f", c.reported),
		benchmark.Figure(fmt.Sprintf("Kubernetes requests a cluster in %s of idling", c.watch), "%.2f", float64(c.rest.Work())/n).Zero(),
		benchmark.Figure("MiB of the idle manager", "%.0f", mib(c.rss)).Below(aimClustersMemory),
		benchmark.Figure("MiB of the manager at its peak", "%.0f", mib(c.peak)).Below(aimClustersMemory),
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
	if _, err := c.in.FromStart(ctx, func() error { return c.initialize(ctx) }); err != nil {
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
	if err := benchmark.Await(ctx, c.in.Client, &infrav1.Metal3MachineList{}, machines, ready); err != nil {
		return err
	}
	if err := c.each(ctx, (*spreadCluster).copyDomains); err != nil {
		return err
	}
	return c.in.Rest(ctx)
}

func (c *clusters) await(ctx context.Context, done func(*infrav1.Metal3Cluster) bool) error {
	names := make([]string, 0, len(c.all))
	for _, p := range c.all {
		names = append(names, p.cluster.Name)
	}
	return benchmark.Await(ctx, c.in.Client, &infrav1.Metal3ClusterList{}, names, done)
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

// restart starts the killed manager, and measures until the clusters report their balance and the manager is idle, and then while idle.
func (c *clusters) restart(ctx context.Context) (err error) {
	c.in.Progressf("starting the manager")
	began := time.Now()
	c.start, err = c.in.FromStart(ctx, func() (err error) {
		if c.uneven, err = c.waitForConditions(ctx); err != nil {
			return err
		}
		c.reported = time.Since(began).Seconds()
		return c.in.Rest(ctx)
	})
	if err != nil {
		return err
	}
	c.in.Progressf("watching the idle manager for %s", c.watch)
	if c.rest, err = c.in.During(ctx, func() error { return provider.Pause(ctx, c.watch) }); err != nil {
		return err
	}
	c.rss, c.peak, err = c.in.Memory()
	return err
}
