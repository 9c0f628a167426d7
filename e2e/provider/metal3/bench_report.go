// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"fmt"
	"strings"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

// Aims on bare metal, with default flags.
const (
	aimHostRequests = 6   // Kubernetes requests a machine, without events, leases and watches
	aimMemory       = 100 // MiB of the manager
)

// aimAssociated are the seconds until a number of machines have their hosts.
func aimAssociated() map[int]float64 { return map[int]float64{200: 5, 1000: 30} }

// Report turns the numbers into a text with a table and what stands behind it.
func (r HostResults) Report() string {
	rows := []benchmark.Row{benchmark.Line("", "Faultline", "CAPM3 v1.13.1", "aim", "")}
	for _, batch := range r.Batches {
		rows = append(rows, batch.rows()...)
	}
	if len(r.Batches) == 0 {
		rows = append(rows, benchmark.Nothing())
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Provider %s on %d CPUs, shared with etcd, kube-apiserver and the simulated hosts; load before: %.1f\n\n", r.Provider, r.CPUs, r.Load)
	text.WriteString(benchmark.Align(rows))
	text.WriteString("\n" + hostNotes())
	var association, both []benchmark.Column
	for _, batch := range r.Batches {
		title := fmt.Sprintf("%d on %d", batch.Machines, batch.Hosts)
		association = append(association, benchmark.Column{Title: title, Machines: batch.Machines, Cost: batch.Association})
		both = append(both, benchmark.Column{Title: title, Machines: batch.Machines, Cost: batch.Association.Plus(batch.Provisioning)})
	}
	requests := func(c benchmark.Cost) benchmark.Counts { return c.Requests }
	text.WriteString("\n" + benchmark.Breakdown("Kubernetes requests a machine until it has its host, by verb and resource", association, requests))
	text.WriteString("\n" + benchmark.Breakdown("Kubernetes requests a machine until it is provisioned", both, requests))
	text.WriteString("\n" + benchmark.Breakdown("of these failed, by status", both, func(c benchmark.Cost) benchmark.Counts { return c.Failed }))
	text.WriteString("\n" + benchmark.Breakdown("reconciles a machine, by controller", both, func(c benchmark.Cost) benchmark.Counts { return c.Reconciles }))
	return text.String()
}

// upstream are the numbers of CAPM3 for a batch; measured are 200 and 1,000
// machines on as many hosts.
func (b Batch) upstream() (seconds, memory, cpu string) {
	switch {
	case b.Hosts != b.Machines:
		return benchmark.None, benchmark.None, benchmark.None
	case b.Machines == 200:
		return "31-39, tuned 23.5", benchmark.None, benchmark.None
	case b.Machines == 1000:
		return "627, tuned 320", "155", "180"
	}
	return benchmark.None, benchmark.None, benchmark.None
}

func (b Batch) rows() []benchmark.Row {
	seconds, memory, processor := b.upstream()
	per := func(count int) float64 { return float64(count) / float64(b.Machines) }
	requests := per(b.Association.Requests.Sum(benchmark.Except(benchmark.IsApart)))
	whole := b.Association.Plus(b.Provisioning)
	lists := b.Association.Requests["list baremetalhosts"]
	peak := float64(b.Peak) / benchmark.Mebibyte
	associated := benchmark.Line("seconds until all have a host", fmt.Sprintf("%.1f", b.Associated), seconds, benchmark.None, "")
	if aim, ok := aimAssociated()[b.Machines]; ok {
		associated.Aim, associated.Verdict = fmt.Sprintf("< %.0f", aim), benchmark.Verdict(b.Associated < aim)
	}
	return []benchmark.Row{
		{Name: fmt.Sprintf("%d machines on %d hosts in %d failure domains", b.Machines, b.Hosts, rackCount)},
		associated,
		benchmark.Line("seconds from a machine's creation to its host, median", fmt.Sprintf("%.2f", b.Median), benchmark.None, benchmark.None, ""),
		benchmark.Line("the same, 99 of 100", fmt.Sprintf("%.2f", b.P99), benchmark.None, benchmark.None, ""),
		benchmark.Line("Kubernetes requests a machine until it has its host", fmt.Sprintf("%.1f", requests), "8-18", fmt.Sprintf("<= %d", aimHostRequests), benchmark.Verdict(requests <= aimHostRequests)),
		benchmark.Line("lists of hosts in all", fmt.Sprint(lists), fmt.Sprint(b.Machines), "0", benchmark.Verdict(lists == 0)),
		benchmark.Line("Kubernetes requests a machine until it is provisioned", fmt.Sprintf("%.1f", per(whole.Requests.Sum(benchmark.Except(benchmark.IsApart)))), benchmark.None, benchmark.None, ""),
		benchmark.Line("events, leases and watches a machine", fmt.Sprintf("%.1f", per(whole.Requests.Sum(benchmark.IsApart))), benchmark.None, benchmark.None, ""),
		benchmark.Line("CPU-seconds of the manager until all have a host", fmt.Sprintf("%.1f", b.Association.CPU), processor, benchmark.None, ""),
		benchmark.Line("CPU-seconds of the API server until all have a host", fmt.Sprintf("%.1f", b.Association.ServerCPU), benchmark.None, benchmark.None, ""),
		benchmark.Line("seconds more until all are provisioned", fmt.Sprintf("%.1f", b.Provisioned), benchmark.None, benchmark.None, ""),
		benchmark.Line("CPU-seconds of the manager in all", fmt.Sprintf("%.1f", whole.CPU), benchmark.None, benchmark.None, ""),
		benchmark.Line("MiB of the manager at the highest", fmt.Sprintf("%.0f", peak), memory, fmt.Sprintf("< %d", aimMemory), benchmark.Verdict(peak < aimMemory)),
		benchmark.Line("MiB of the API server at the highest", fmt.Sprintf("%.0f", float64(b.ServerPeak)/benchmark.Mebibyte), benchmark.None, benchmark.None, ""),
	}
}

func hostNotes() string {
	return `Hosts are available before the first machine is created and in memory of the manager, as are the Machines. A machine
has its host when it says so itself; the host's new spec is counted with it. Then the hosts begin to work, in no time.
Requests are those in the API server's audit log that have the manager's user agent; writes of events and leases are
apart, and so are watches. There is no workload cluster, so no Node is waited for.
`
}
