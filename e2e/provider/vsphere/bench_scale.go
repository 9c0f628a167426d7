// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	// foreignFolder holds virtual machines that do not belong to the benchmark.
	foreignFolder = "foreign"
	// foreignTasks is the number of tasks per second that other clients start in a vCenter.
	foreignTasks = 20
)

// size is the size of the vCenter in the scale scenario, and how long it is observed.
type size struct {
	// machines is the number of the manager's machines, foreign the number of other virtual machines.
	machines, foreign int
	// watch is how long the idle manager is observed, and again while other clients work.
	watch time.Duration
	// outage is how long the vCenter does not respond.
	outage time.Duration
}

// limit returns the time limit of the scenario. A busy computer creates ten foreign virtual machines or three machines per second; the
// observation times are added.
func (s size) limit() time.Duration {
	return benchmark.ScenarioLimit + time.Duration(s.foreign)*time.Second/10 + time.Duration(s.machines)*time.Second/3 + 2*s.watch + 2*s.outage
}

// measureScale returns the scale scenario.
func measureScale(quantities *flag.FlagSet) func(other string) benchmark.Plan {
	var s size
	quantities.IntVar(&s.machines, "machines", 2000, "")
	quantities.IntVar(&s.foreign, "foreign", 10000, "")
	quantities.DurationVar(&s.watch, "watch", time.Minute, "")
	quantities.DurationVar(&s.outage, "outage", 5*time.Minute, "")
	return func(string) benchmark.Plan {
		return benchmark.Plan{Ours: "Faultline", Scenarios: []benchmark.Scenario{{
			Name: "scale", Title: fmt.Sprintf("%d machines next to %d unrelated virtual machines", s.machines, s.foreign), Limit: s.limit(),
			Run: func(ctx context.Context, e *benchmark.Environment) error { return scale(ctx, e, s) },
		}}}
	}
}

func scale(ctx context.Context, e *benchmark.Environment, of size) error {
	e.Progressf("creating %d unrelated virtual machines", of.foreign)
	w, err := setUp(ctx, e, "bench", 1, crowded(of.foreign))
	if err != nil {
		return err
	}
	others, err := w.vcenters[0].PowerOnFolder("/" + datacenterName + "/vm/" + foreignFolder) //nolint:contextcheck // The simulator needs no context.
	if err != nil {
		return err
	}
	var provision func(context.Context) error
	for _, part := range []struct {
		name    string
		happens func() error
	}{
		{"log in, read the inventory, check the zones", func() error { return w.zonesReady(ctx) }},
		{fmt.Sprintf("create %d Machines", of.machines), func() (err error) {
			provision, err = w.Prepare(ctx, of.machines)
			return err
		}},
		{fmt.Sprintf("create %d VSphereMachines", of.machines), func() error { return cmp.Or(provision(ctx), e.Rest(ctx)) }},
		{"rest", func() error { return provider.Pause(ctx, of.watch) }},
		{fmt.Sprintf("%d unrelated tasks a second", foreignTasks), func() error { return w.runForeignTasks(ctx, others, of.watch) }},
		{"vCenter does not respond", func() error {
			w.vcenters[0].SetDown(true)
			return provider.Pause(ctx, of.outage)
		}},
		{"vCenter responds again", func() error {
			w.vcenters[0].SetDown(false)
			return cmp.Or(w.connected(ctx), e.Rest(ctx))
		}},
	} {
		if err := phase(ctx, e, part.name, part.happens); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// connected waits until the manager has a session again.
func (w *setup) connected(ctx context.Context) error {
	cluster := &infrav1.VSphereCluster{ObjectMeta: w.Cluster.Meta(w.Cluster.Name)}
	return provider.Await(ctx, w.Client, cluster, "VSphereCluster "+cluster.Name+" to have a session again", func() bool {
		return conditions.IsTrue(cluster, infrav1.VSphereClusterVCenterAvailableCondition)
	})
}

// crowded returns a layout with foreign virtual machines.
func crowded(n int) simulator.Layout {
	layout := simulator.ThreeZones()
	dc := &layout.Datacenters[0]
	dc.Folders = append(dc.Folders, foreignFolder)
	for i := range n {
		dc.Templates = append(dc.Templates, simulator.Template{
			Name: fmt.Sprintf("foreign-%05d", i), Folder: foreignFolder, VirtualMachine: true,
		})
	}
	return layout
}

// runForeignTasks starts tasks evenly spread over the time and the virtual machines.
func (w *setup) runForeignTasks(ctx context.Context, others []string, d time.Duration) error {
	tick := time.NewTicker(time.Second / foreignTasks)
	defer tick.Stop()
	over := time.NewTimer(d)
	defer over.Stop()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(foreignTasks)
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return cmp.Or(group.Wait(), context.Cause(ctx))
		case <-over.C:
			return group.Wait()
		case <-tick.C:
			group.Go(func() error { //nolint:contextcheck // The simulator needs no context.
				return w.vcenters[0].AnnotateVM(others[i%len(others)], strconv.Itoa(i))
			})
		}
	}
}

// phase measures one phase of the scenario.
func phase(ctx context.Context, e *benchmark.Environment, name string, happens func() error) error {
	e.Progressf("%s", name)
	began := time.Now()
	cost, err := e.During(ctx, happens)
	if err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	rss, peak, err := e.Memory()
	e.Section("While: " + name)
	e.Add(
		benchmark.Figure("seconds", "%.0f", seconds), benchmark.Figure("CPU of the manager, % of a core", "%.1f", 100*cost.CPU/seconds),
		benchmark.Figure("reconciles", "%.0f", float64(cost.Reconciles.Sum(benchmark.All))),
		benchmark.Figure("of these of VSphereVMs", "%.0f", float64(cost.Reconciles[vmController])),
		benchmark.Figure("writes to the Kubernetes API", "%.0f", float64(cost.Requests.Sum(isWrite))),
		benchmark.Figure("calls to vCenter", "%.0f", float64(cost.Calls.Sum(benchmark.All))),
		benchmark.Figure("MiB", "%.0f", float64(rss)/benchmark.Mebibyte),
		benchmark.Figure("MiB at the peak", "%.0f", float64(peak)/benchmark.Mebibyte))
	return err
}

// isWrite excludes reads, and the lease of the leader election.
func isWrite(request string) bool {
	verb, resource, _ := strings.Cut(request, " ")
	return (verb == "create" || verb == "update" || verb == "patch" || verb == "delete") && !strings.HasPrefix(resource, "leases")
}
