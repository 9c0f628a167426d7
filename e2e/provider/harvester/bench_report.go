// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

// Aims for 200 machines on a Harvester that does everything in no time.
const (
	aimCalls  = 8   // requests to Harvester a machine
	aimReady  = 15  // seconds until all are ready
	aimMemory = 100 // MiB of the manager
)

// upstreams is how many machines the column of upstream's manager is about.
const upstreams = 200

// Report turns the numbers into a text with a table and what stands behind it.
func (r *Results) Report() string {
	rows := []benchmark.Row{benchmark.Line("", cmp.Or(r.Manager, "Faultline"), "CAPHV v0.10.1", "aim", "")}
	for _, batch := range r.Batches {
		rows = append(rows, batch.rows()...)
	}
	if len(r.Batches) == 0 {
		rows = append(rows, benchmark.Nothing())
	}
	if r.Neighbours != nil {
		rows = append(rows, r.Neighbours.Rows("a Harvester", benchmark.None, benchmark.None)...)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Provider %s on %d CPUs, shared with two etcds, two API servers, kube-scheduler and the simulated Harvester; load before: %.1f\n\n",
		r.Provider, r.CPUs, r.Load)
	text.WriteString(benchmark.Align(rows))
	text.WriteString(`
Machines and bootstrap data are there before the first HarvesterMachine. A machine is ready when its virtual machine runs and has an
address; its host is chosen by the real kube-scheduler. Requests to Harvester are counted in front of its API server; watches are apart.
There is no workload cluster, so no Node is waited for; CAPHV looks for it every 10 s. Its column was measured with --manager, in the same hour
as 34.5 s until all are ready for Faultline.
`)
	if r.Neighbours != nil {
		text.WriteString(benchmark.NoEffect())
	}
	var making, idle []benchmark.Column
	for _, batch := range r.Batches {
		title := fmt.Sprint(batch.Machines)
		making = append(making, benchmark.Column{Title: title, Machines: batch.Machines, Cost: batch.Making})
		idle = append(idle, benchmark.Column{Title: title, Machines: batch.Machines, Cost: batch.Idle})
	}
	calls := func(c benchmark.Cost) benchmark.Counts { return c.Calls }
	requests := func(c benchmark.Cost) benchmark.Counts { return c.Requests }
	text.WriteString("\n" + benchmark.Breakdown("requests to Harvester a machine", making, calls))
	text.WriteString("\n" + benchmark.Breakdown("requests to the management cluster a machine", making, requests))
	text.WriteString("\n" + benchmark.Breakdown("reconciles a machine, by controller", making, func(c benchmark.Cost) benchmark.Counts { return c.Reconciles }))
	text.WriteString("\n" + benchmark.Breakdown("requests to Harvester a machine at rest", idle, calls))
	text.WriteString("\n" + benchmark.Breakdown("requests to the management cluster a machine at rest", idle, requests))
	return text.String()
}

func (b Batch) rows() []benchmark.Row {
	work := benchmark.Except(benchmark.IsApart)
	per := func(count int) float64 { return float64(count) / float64(b.Machines) }
	calls, idle, rest := per(b.Making.Calls.Sum(work)), b.Idle.Calls.Sum(work), time.Duration(b.Watched*float64(time.Second))
	peak := float64(b.Peak) / benchmark.Mebibyte
	upstream := func(value string) string {
		if b.Machines != upstreams {
			return benchmark.None
		}
		return value
	}
	return []benchmark.Row{
		{Name: fmt.Sprintf("%d machines in %d zones", b.Machines, len(zoneNames()))},
		benchmark.Line("seconds until all are ready", fmt.Sprintf("%.1f", b.Ready), upstream("46.5"), fmt.Sprintf("< %d", aimReady), benchmark.Verdict(b.Ready < aimReady)),
		benchmark.Line("requests to Harvester a machine", fmt.Sprintf("%.1f", calls), upstream("9.0"), fmt.Sprintf("<= %d", aimCalls), benchmark.Verdict(calls <= aimCalls)),
		benchmark.Line(fmt.Sprintf("requests to Harvester in all in %s of rest", rest), fmt.Sprint(idle), upstream("40 a second"), "0", benchmark.Verdict(idle == 0)),
		benchmark.Line("watches of it that were opened again then", fmt.Sprint(b.Idle.Calls.Sum(benchmark.IsApart)), benchmark.None, benchmark.None, ""),
		benchmark.Line("percent of a core that the manager took then", fmt.Sprintf("%.1f", 100*b.Idle.CPU/b.Watched), upstream("3.7"), benchmark.None, ""),
		benchmark.Line("requests to the management cluster a machine", fmt.Sprintf("%.1f", per(b.Making.Requests.Sum(work))), upstream("8.4"), benchmark.None, ""),
		benchmark.Line("CPU-seconds of the manager", fmt.Sprintf("%.1f", b.Making.CPU), upstream("3.7"), benchmark.None, ""),
		benchmark.Line("MiB of the manager at the highest", fmt.Sprintf("%.0f", peak), upstream("64"), fmt.Sprintf("< %d", aimMemory), benchmark.Verdict(peak < aimMemory)),
	}
}
