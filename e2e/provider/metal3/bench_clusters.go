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
	// rebalancer is the controller that looks at control planes.
	rebalancer = "rebalance"
	// spreader is the one that looks at workers.
	spreader = "spread"
	// stillFor is how long a manager must do nothing to be at rest when there are many objects to look at.
	stillFor = 5 * time.Second
)

// ClusterResults are what many clusters cost whose control planes are looked at.
type ClusterResults struct {
	Clusters int `json:"clusters"`
	// Uneven is how many of them have machines to be moved.
	Uneven int `json:"uneven"`
	// Seconds are those of Watch.
	Seconds float64 `json:"restSeconds"`
	// Off is the manager while rebalance is Off and workers are not spread, Spread while it is Advise and they are.
	Off    ClusterStart `json:"off"`
	Spread ClusterStart `json:"spread"`
	// Change is what it cost that every control plane reported something.
	Change benchmark.Cost `json:"change"`
}

// ClusterStart is what a manager costs that is started over clusters which it has seen before.
type ClusterStart struct {
	// Judged is after how many seconds the last cluster had the conditions ControlPlaneBalanced and WorkersBalanced, where they are to have
	// them.
	Judged float64 `json:"judgedSeconds"`
	// Start is what it cost until the manager was at rest, and Rest what it cost to be at rest.
	Start benchmark.Cost `json:"start"`
	Rest  benchmark.Cost `json:"rest"`
	// RSS and Peak are the manager's memory in bytes at rest, and at its highest; Heap is what its heap takes of RSS.
	RSS  int64 `json:"rssBytes"`
	Peak int64 `json:"peakBytes"`
	Heap int64 `json:"heapBytes"`
}

// measureClusters starts the manager over many clusters.
func measureClusters(ctx context.Context, b *benchmark.Runner, size Scale) (*ClusterResults, error) {
	r := &ClusterResults{Clusters: size.Clusters, Seconds: size.Watch.Seconds()}
	b.Limit = size.limit()
	err := b.Scenario(ctx, fmt.Sprintf("clusters-%d", size.Clusters), nil, func(ctx context.Context, l *benchmark.Environment) error {
		c := &clusters{in: scenario{l}, watch: size.Watch}
		for i := range size.Clusters {
			c.all = append(c.all, newSpreadCluster(i))
		}
		return c.measure(ctx, r)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// clusters are many with control planes.
type clusters struct {
	noCalls
	in    scenario
	all   []*spreadCluster
	watch time.Duration
}

func (c *clusters) measure(ctx context.Context, r *ClusterResults) error {
	if err := c.make(ctx); err != nil {
		return err
	}
	var err error
	c.in.Progressf("starting the manager while nothing is to be spread")
	if r.Off, err = c.start(ctx, func(context.Context) error { return nil }); err != nil {
		return err
	}
	if err := c.in.Kill(); err != nil {
		return err
	}
	if err := c.each(ctx, (*spreadCluster).spread); err != nil {
		return err
	}
	c.in.Progressf("starting the manager while everything is to be spread")
	r.Spread, err = c.start(ctx, func(ctx context.Context) (err error) {
		r.Uneven, err = c.judged(ctx)
		return err
	})
	if err != nil {
		return err
	}
	c.in.Progressf("having every control plane report a change")
	r.Change, err = c.in.During(ctx, c, func() error {
		if err := c.each(ctx, (*spreadCluster).report); err != nil {
			return err
		}
		return c.still(ctx)
	})
	return err
}

// make makes the clusters, and leaves them without a manager, which has seen them.
func (c *clusters) make(ctx context.Context) error {
	if err := c.withoutManager(ctx); err != nil {
		return err
	}
	c.in.Progressf("making %d clusters", len(c.all))
	if err := c.each(ctx, (*spreadCluster).create); err != nil {
		return err
	}
	c.in.Progressf("letting the manager see them for the first time")
	if _, err := c.in.FromStart(ctx, c, func() error { return c.acquaint(ctx) }); err != nil {
		return err
	}
	return c.in.Kill()
}

// withoutManager ends the manager, and with it admission, which it would be asked for.
func (c *clusters) withoutManager(ctx context.Context) error {
	for _, kind := range []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}} {
		if err := c.in.Client.DeleteAllOf(ctx, kind); err != nil {
			return fmt.Errorf("doing without admission: %w", err)
		}
	}
	if err := c.in.Kill(); err != nil {
		return err
	}
	probe := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "probe"}}
	probe.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: provider.Endpoint().Host, Port: provider.Endpoint().Port}
	var last error
	err := wait.PollUntilContextCancel(ctx, provider.LookEvery, true, func(ctx context.Context) (bool, error) {
		last = c.in.Client.Create(ctx, probe.DeepCopy(), client.DryRunAll)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the API server to do without admission: %w: %w", provider.Because(ctx, err), last)
	}
	return nil
}

// each does something to every cluster.
func (c *clusters) each(ctx context.Context, do func(*spreadCluster, context.Context, client.Client) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce)
	for _, p := range c.all {
		group.Go(func() error { return do(p, ctx, c.in.Client) })
	}
	return group.Wait()
}

// acquaint waits until the manager has published failure domains and put every machine on its host, does what Cluster API does then,
// and waits until the manager has nothing more to do.
func (c *clusters) acquaint(ctx context.Context) error {
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
	ready := benchmark.NewWaiting(machines, func(m *infrav1.Metal3Machine) bool { return conditions.IsTrue(m, clusterv1.ReadyCondition) })
	if err := benchmark.Await(ctx, c.in.Client, &infrav1.Metal3MachineList{}, metav1.NamespaceAll, ready); err != nil {
		return err
	}
	if err := c.each(ctx, (*spreadCluster).copyDomains); err != nil {
		return err
	}
	return c.still(ctx)
}

func (c *clusters) await(ctx context.Context, done func(*infrav1.Metal3Cluster) bool) error {
	names := make([]string, 0, len(c.all))
	for _, p := range c.all {
		names = append(names, p.cluster.Name)
	}
	return benchmark.Await(ctx, c.in.Client, &infrav1.Metal3ClusterList{}, metav1.NamespaceAll, benchmark.NewWaiting(names, done))
}

// judged waits until it is said of each cluster whether its control plane and its workers are balanced, which must be right, and
// returns of how many the control planes are not.
func (c *clusters) judged(ctx context.Context) (uneven int, err error) {
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
			return 0, fmt.Errorf("checking conditions: %s of Metal3Cluster %s has the reason %s, not %s", faultlinev1.ControlPlaneBalancedCondition, p.cluster.Name, got, want)
		}
	}
	return uneven, nil
}

// start starts the manager, which has been killed. It returns what it takes until the clusters are judged and the manager is at rest,
// and then to be at rest.
func (c *clusters) start(ctx context.Context, judged func(context.Context) error) (s ClusterStart, err error) {
	began := time.Now()
	s.Start, err = c.in.FromStart(ctx, c, func() error {
		if err := judged(ctx); err != nil {
			return err
		}
		s.Judged = time.Since(began).Seconds()
		return c.still(ctx)
	})
	if err != nil {
		return s, err
	}
	c.in.Progressf("watching it at rest for %s", c.watch)
	if s.Rest, err = c.in.During(ctx, c, func() error { return provider.Pause(ctx, c.watch) }); err != nil {
		return s, err
	}
	if s.Heap, err = c.in.Heap(ctx); err != nil {
		return s, err
	}
	s.RSS, s.Peak, err = c.in.Memory()
	return s, err
}

// still waits until the manager has looked at every cluster, and neither reconciles nor asks anything any more.
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
			did.Reconciles.Sum(benchmark.All)+did.Requests.Sum(benchmark.Except(benchmark.IsApart)) == 0 {
			return nil
		}
		last = now
	}
	return fmt.Errorf("waiting for the manager to come to rest: %w", err)
}
