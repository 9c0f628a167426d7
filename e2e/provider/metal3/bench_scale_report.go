// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"fmt"
	"strings"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

// Aims for spreading control planes and workers over failure domains.
const (
	aimClusters       = 1000
	aimDecision       = 20  // milliseconds of the manager's CPU
	aimClustersMemory = 120 // MiB of the manager

	aimWorkers        = 500
	aimSpread         = 10   // seconds until aimWorkers have their failure domains
	aimSpreadRequests = 1.05 // more requests a machine: one, and a few for the cluster
)

// Report turns the numbers into a text with a table and what stands behind it.
func (r *ScaleResults) Report() string {
	rows := []benchmark.Row{benchmark.Line("", "spread", "not spread", "aim", "")}
	rows = append(rows, r.Workers.rows()...)
	rows = append(rows, r.Clusters.rows()...)
	var text strings.Builder
	fmt.Fprintf(&text, "Provider metal3 on %d CPUs, shared with etcd and kube-apiserver; load before: %.1f\n\n", r.CPUs, r.Load)
	text.WriteString(benchmark.Align(rows))
	text.WriteString("\n" + scaleNotes())
	if w := r.Workers; w != nil {
		text.WriteString(breakdowns("worker", []benchmark.Column{w.Spread.column("spread"), w.Named.column("not spread")}))
	}
	if c := r.Clusters; c != nil {
		text.WriteString(breakdowns("cluster", []benchmark.Column{
			c.column("start, spread", c.Spread.Start), c.column("rest, spread", c.Spread.Rest), c.column("a change", c.Change),
			c.column("start, not", c.Off.Start), c.column("rest, not", c.Off.Rest),
		}))
	}
	return text.String()
}

// breakdowns are of what one of several things costs.
func breakdowns(thing string, columns []benchmark.Column) string {
	return "\n" + benchmark.Breakdown("Kubernetes requests a "+thing+", by verb and resource", columns, func(c benchmark.Cost) benchmark.Counts { return c.Requests }) +
		"\n" + benchmark.Breakdown("of these failed, by status", columns, func(c benchmark.Cost) benchmark.Counts { return c.Failed }) +
		"\n" + benchmark.Breakdown("reconciles a "+thing+", by controller", columns, func(c benchmark.Cost) benchmark.Counts { return c.Reconciles })
}

// requests are those that one of n things takes, without what is listed apart.
func requests(cost benchmark.Cost, n int) float64 {
	return float64(cost.Requests.Sum(benchmark.Except(benchmark.IsApart))) / float64(n)
}

// both is a row with a figure of each of the two ways.
func both(name, format string, spread, not float64) benchmark.Row {
	return benchmark.Line(name, fmt.Sprintf(format, spread), fmt.Sprintf(format, not), benchmark.None, "")
}

// toReach gives a row an aim.
func toReach(row benchmark.Row, aim string, reached bool) benchmark.Row {
	row.Aim, row.Verdict = aim, benchmark.Verdict(reached)
	return row
}

func (w *WorkerResults) rows() []benchmark.Row {
	if w == nil {
		return []benchmark.Row{{Name: "workers of one MachineDeployment"}, benchmark.Nothing()}
	}
	spread, named := &w.Spread, &w.Named
	assigned := benchmark.Line("seconds until all are assigned a failure domain", fmt.Sprintf("%.1f", spread.Assigned), benchmark.None, benchmark.None, "")
	if spread.Machines <= aimWorkers {
		assigned = toReach(assigned, fmt.Sprintf("< %d", aimSpread), spread.Assigned < aimSpread)
	}
	more := requests(spread.Cost, spread.Machines) - requests(named.Cost, named.Machines)
	return []benchmark.Row{
		{Name: fmt.Sprintf("%d workers of one MachineDeployment on %d hosts in %d failure domains", spread.Machines, spread.Hosts, rackCount)},
		both("seconds until all are created", "%.1f", spread.Created, named.Created),
		assigned,
		both("seconds until all have a host", "%.1f", spread.Associated, named.Associated),
		both("Kubernetes requests a machine until it has its host", "%.2f", requests(spread.Cost, spread.Machines), requests(named.Cost, named.Machines)),
		toReach(benchmark.Line("of these for being spread", fmt.Sprintf("%.2f", more), benchmark.None, benchmark.None, ""), "1", more <= aimSpreadRequests),
		both("CPU-seconds of the manager until all have a host", "%.1f", spread.Cost.CPU, named.Cost.CPU),
		both("CPU-seconds of the API server until then", "%.1f", spread.Cost.ServerCPU, named.Cost.ServerCPU),
		both("MiB of the manager, highest", "%.0f", mib(spread.Peak), mib(named.Peak)),
	}
}

func (w *Workers) column(title string) benchmark.Column {
	return benchmark.Column{Title: title, Machines: w.Machines, Cost: w.Cost}
}

func (r *ClusterResults) rows() []benchmark.Row {
	if r == nil {
		return []benchmark.Row{{Name: "clusters with control planes"}, benchmark.Nothing()}
	}
	on, off := r.Spread, r.Off
	memory := func(name string, spread, not int64) benchmark.Row {
		return toReach(both(name, "%.0f", mib(spread), mib(not)), fmt.Sprintf("< %d", aimClustersMemory), spread < aimClustersMemory*benchmark.Mebibyte)
	}
	only := func(name, format string, value any) benchmark.Row {
		return benchmark.Line(name, fmt.Sprintf(format, value), benchmark.None, benchmark.None, "")
	}
	decision := 1000 * r.Change.CPU / float64(r.Clusters)
	resting := fmt.Sprintf("in %.0f s at rest", r.Seconds)
	return []benchmark.Row{
		{Name: fmt.Sprintf("%d clusters of %d control-plane machines in 3 to 5 failure domains", r.Clusters, controlPlaneMachines)},
		only("of these not balanced", "%d", r.Uneven),
		only("seconds from the manager's start until it is said of all whether they are balanced", "%.1f", on.Judged),
		both("Kubernetes requests a cluster from the start until it is at rest", "%.2f", requests(on.Start, r.Clusters), requests(off.Start, r.Clusters)),
		both("CPU-seconds of the manager until then", "%.1f", on.Start.CPU, off.Start.CPU),
		both("CPU-seconds of the API server until then", "%.1f", on.Start.ServerCPU, off.Start.ServerCPU),
		memory("MiB of the manager at rest", on.RSS, off.RSS),
		memory("MiB of the manager, highest", on.Peak, off.Peak),
		both("MiB of its heap at rest", "%.0f", mib(on.Heap), mib(off.Heap)),
		toReach(both("Kubernetes requests a cluster "+resting, "%.2f", requests(on.Rest, r.Clusters), requests(off.Rest, r.Clusters)), "0", requests(on.Rest, r.Clusters) == 0),
		both("CPU-seconds of the manager "+resting, "%.2f", on.Rest.CPU, off.Rest.CPU),
		toReach(only("CPU-milliseconds of the manager a decision", "%.1f", decision), fmt.Sprintf("< %d", aimDecision), decision < aimDecision),
		only("Kubernetes requests a decision", "%.2f", requests(r.Change, r.Clusters)),
	}
}

func (r *ClusterResults) column(title string, cost benchmark.Cost) benchmark.Column {
	return benchmark.Column{Title: title, Machines: r.Clusters, Cost: cost}
}

func mib(bytes int64) float64 { return float64(bytes) / benchmark.Mebibyte }

func scaleNotes() string {
	return `Workers that are spread are assigned their failure domains by the manager; the others have Machines that name theirs. The Machines
are there before. Seconds are from the first creation of a Metal3Machine, requests those until all have hosts and the manager is at rest.
Clusters are spread with rebalance Advise and workers enabled, and not with rebalance Off and workers not enabled. Each start is one of
a manager over clusters that it has seen before: it reads all objects, has every controller look at each, and finds nothing to write but
what is asked for anew. A decision follows an event that nobody but the rebalancer looks at, and what it has to say is written.
Requests are those in the API server's audit log that have the manager's user agent; events, leases and watches are apart. There are no
workload clusters, and no connection to one is tried.
`
}
