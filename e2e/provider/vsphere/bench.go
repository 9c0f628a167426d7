// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	// syncPeriod is the manager's resync period in the idle scenario, and idlePeriods the number of periods that it is observed.
	syncPeriod  = 10 * time.Second
	idlePeriods = 3
	// touches is how often every zone is reconciled again.
	touches = 10

	// Names of the controllers of zones and VMs.
	zoneController = "vspheredeploymentzone"
	vmController   = "vspherevm"
	// stream is the call that waits for changes. One is always in progress.
	stream = "WaitForUpdatesEx"
)

// Targets with default flags.
const (
	aimCalls    = 12   // SOAP calls per VM
	aimRequests = 15   // Kubernetes requests per VM, without events, leases and watches
	aimSeconds  = 10   // until aimVMs VMs are ready
	aimVMs      = 100  // the number of VMs for aimSeconds
	aimCPU      = 0.05 // seconds per VM
	aimSync     = 2    // reconciles of an idle VM in all periods; few calls are good only if work was done
)

// Benchmark implements benchmark.Provider.
func (Provider) Benchmark() benchmark.Suite {
	return benchmark.Suite{Machines: []int{1, 10, 100}, Measure: measure, Scale: measureScale}
}

func measure(vms []int, _ string) benchmark.Plan {
	most := slices.Max(vms)
	var scenarios []benchmark.Scenario
	for _, n := range vms {
		title := fmt.Sprintf("%d VMs from create to ready", n)
		scenarios = append(scenarios, benchmark.Scenario{
			Name: fmt.Sprintf("create-%d", n), Title: title,
			Run: func(ctx context.Context, e *benchmark.Environment) error {
				b, err := rollout(ctx, e, 1, n)
				e.Add(rolloutRows(b)...)
				e.Detail(title, n, b.Cost)
				return err
			},
		})
	}
	scenarios = append(scenarios,
		benchmark.Scenario{
			Name: "create-vcenters", Title: fmt.Sprintf("%d VMs from create to ready, over three vCenters", most),
			Run: func(ctx context.Context, e *benchmark.Environment) error {
				b, err := rollout(ctx, e, 3, most)
				e.Add(vcentersRows(b)...)
				return err
			},
		},
		benchmark.Scenario{
			Name: "idle", Title: fmt.Sprintf("Idle, a VM and sync period (%d VMs, %d periods of %s)", most, idlePeriods, syncPeriod),
			Args: []string{"--sync-period=" + syncPeriod.String()},
			Run:  func(ctx context.Context, e *benchmark.Environment) error { return idle(ctx, e, most) },
		},
		benchmark.Scenario{Name: "zones", Title: "Zone check (calls for each due check, without those of the stream)", Run: zones})
	neighbours := benchmark.Neighbours{One: "a vCenter", Alone: "17", Upstream: "295", Start: startNeighbour}
	return benchmark.Plan{
		Ours: "Faultline", Upstream: "CAPV v1.14.0", Scenarios: append(scenarios, neighbours.Scenarios()...),
		Notes: `Calls are counted at the vCenter, including those of the stream unless stated otherwise. Requests are those in the API
server's audit log with the manager's user agent; events, leases and restarted watches are counted separately. Time runs from the
creation of the first VSphereMachine until the last has status.initialization.provisioned. Calls, requests and CPU are counted until the
manager is idle. Login, the first inventory and the first zone checks are not included.
` + benchmark.NoEffect(),
	}
}

func isREST(name string) bool { return strings.HasPrefix(name, "REST ") }
func isSOAP(name string) bool { return !isREST(name) }

// isWork excludes the stream, which waits for changes all the time.
func isWork(name string) bool { return isSOAP(name) && name != stream }

// isOther also excludes the other calls of the stream. It sends the tasks and machines that it must follow: with several streams, a call has
// fewer of them.
func isOther(name string) bool {
	return isWork(name) && name != "ModifyListView" && name != "CancelWaitForUpdates"
}

// rollout creates n VMs at once, over the zones of some vCenters.
func rollout(ctx context.Context, e *benchmark.Environment, vcenters, n int) (benchmark.Batch, error) {
	w, err := setUp(ctx, e, "bench", vcenters, simulator.ThreeZones())
	if err == nil {
		err = w.zonesReady(ctx)
	}
	if err != nil {
		return benchmark.Batch{}, err
	}
	return e.Batch(ctx, w, n)
}

func rolloutRows(b benchmark.Batch) []benchmark.Row {
	ready := benchmark.Figure("seconds until ready", "%.1f", b.Seconds)
	if b.Machines == aimVMs {
		ready = ready.WithUpstream("88, tuned 28-36").Below(aimSeconds)
	}
	return []benchmark.Row{
		benchmark.Figure("SOAP calls a VM", "%.1f", b.Per(b.Calls.Sum(isSOAP))).WithUpstream("91-100").AtMost(aimCalls),
		benchmark.Figure("REST calls a VM", "%.1f", b.Per(b.Calls.Sum(isREST))).WithUpstream("6"),
		benchmark.Figure("Kubernetes requests a VM", "%.1f", b.Per(b.Work())).WithUpstream("36-58").AtMost(aimRequests),
		benchmark.Figure("events, leases and watches a VM", "%.1f", b.Per(b.Requests.Sum(benchmark.IsApart))),
		benchmark.Figure("CPU-seconds a VM", "%.3f", b.CPU/float64(b.Machines)).WithUpstream("0.14").AtMost(aimCPU),
		ready,
		benchmark.Figure("MiB of the manager at its peak", "%.0f", float64(b.Peak)/benchmark.Mebibyte).WithUpstream("109-147"),
	}
}

// vcentersRows returns the rows for several vCenters. Each has its own stream.
func vcentersRows(b benchmark.Batch) []benchmark.Row {
	return []benchmark.Row{
		benchmark.Figure("SOAP calls a VM", "%.1f", b.Per(b.Calls.Sum(isSOAP))).AtMost(aimCalls),
		benchmark.Figure("SOAP calls a VM without those of the streams", "%.1f", b.Per(b.Calls.Sum(isOther))),
		benchmark.Figure("REST calls a VM", "%.1f", b.Per(b.Calls.Sum(isREST))),
		benchmark.Figure("Kubernetes requests a VM", "%.1f", b.Per(b.Work())).AtMost(aimRequests),
		benchmark.Figure("seconds until ready", "%.1f", b.Seconds),
	}
}

// idle observes n ready VMs for some sync periods.
func idle(ctx context.Context, e *benchmark.Environment, n int) error {
	if _, err := rollout(ctx, e, 1, n); err != nil {
		return err
	}
	e.Progressf("watching %d idle VMs for %s", n, idlePeriods*syncPeriod)
	cost, err := e.During(ctx, func() error { return provider.Pause(ctx, idlePeriods*syncPeriod) })
	e.Add(idleRows(n, cost)...)
	e.Detail("VMs while idle", n, cost)
	return err
}

// idleRows returns the rows for n idle VMs in all periods.
func idleRows(n int, cost benchmark.Cost) []benchmark.Row {
	per := func(name string, count int) benchmark.Row {
		return benchmark.Figure(name, "%.2f", float64(count)/float64(n*idlePeriods))
	}
	return []benchmark.Row{
		per("SOAP calls", cost.Calls.Sum(isWork)).WithUpstream("16").Zero(),
		per("REST calls", cost.Calls.Sum(isREST)).WithUpstream("2").Zero(),
		per("Kubernetes requests", cost.Requests.Sum(benchmark.All)),
		benchmark.Figure("reconciles of a VSphereVM in all periods", "%.2f", float64(cost.Reconciles[vmController])/float64(n)).AtLeast(aimSync),
	}
}

// zones measures reconciles of the zones: the first ones, and those after a change of their objects.
func zones(ctx context.Context, e *benchmark.Environment) error {
	w, err := setUp(ctx, e, "bench", 1, simulator.ThreeZones())
	if err != nil {
		return err
	}
	for i, part := range []struct {
		name  string
		times int
		cause func(context.Context, int) error
	}{
		{"first, with login", 1, func(ctx context.Context, _ int) error { return w.zonesReady(ctx) }},
		{"unchanged", touches, w.touchZones},
	} {
		var before benchmark.Cost // The first checks are all that the manager has done.
		if i > 0 {
			if before, err = e.Sample(ctx); err != nil {
				return err
			}
		}
		for round := range part.times {
			if err := part.cause(ctx, round); err != nil {
				return err
			}
			if err := e.Rest(ctx); err != nil {
				return err
			}
		}
		after, err := e.Sample(ctx)
		if err != nil {
			return err
		}
		cost := after.Minus(before)
		due := part.times * len(w.zones)
		e.Add(
			benchmark.Figure(part.name+", SOAP", "%.2f", float64(cost.Calls.Sum(isWork))/float64(due)).WithUpstream("22"),
			benchmark.Figure(part.name+", REST", "%.2f", float64(cost.Calls.Sum(isREST))/float64(due)).WithUpstream("33"),
			benchmark.Figure(fmt.Sprintf("%s, checks of %d due", part.name, due), "%.0f", float64(cost.Reconciles[zoneController])))
		e.Detail("zone checks, "+part.name, due, cost)
	}
	return nil
}

// startNeighbour starts a vCenter that delays its answers, and waits until its zones are ready.
func startNeighbour(ctx context.Context, e *benchmark.Environment, name string, delay time.Duration) (benchmark.Infrastructure, error) {
	w, err := setUp(ctx, e, name, 1, simulator.ThreeZones())
	if err != nil {
		return nil, err
	}
	w.vcenters[0].SetDelay(delay)
	return w, w.zonesReady(ctx)
}
