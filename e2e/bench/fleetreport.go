// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strings"
)

// Aims on bare metal, with default flags.
const (
	aimHostRequests = 6   // Kubernetes requests a machine, without events, leases and watches
	aimMemory       = 100 // MiB of the manager
)

// aimAssociated are the seconds until a number of machines have their hosts.
func aimAssociated() map[int]float64 { return map[int]float64{200: 5, 1000: 30} }

// report turns the numbers into a text with a table and what stands behind it.
func (r HostResults) report() string {
	rows := []row{{"", "Faultline", "CAPM3 v1.13.1", "aim", ""}}
	for _, fleet := range r.Fleets {
		rows = append(rows, fleet.rows()...)
	}
	if len(r.Fleets) == 0 {
		rows = append(rows, nothing())
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Provider %s on %d CPUs, shared with etcd, kube-apiserver and the simulated hosts; load before: %.1f\n\n", r.Provider, r.CPUs, r.Load)
	text.WriteString(align(rows))
	text.WriteString("\n" + hostNotes())
	var association, both []column
	for _, fleet := range r.Fleets {
		title := fmt.Sprintf("%d on %d", fleet.Machines, fleet.Hosts)
		association = append(association, column{title, fleet.Machines, fleet.Association})
		both = append(both, column{title, fleet.Machines, fleet.Association.plus(fleet.Provisioning)})
	}
	requests := func(c Cost) Counts { return c.Requests }
	text.WriteString("\n" + breakdown("Kubernetes requests a machine until it has its host, by verb and resource", association, requests))
	text.WriteString("\n" + breakdown("Kubernetes requests a machine until it is provisioned", both, requests))
	text.WriteString("\n" + breakdown("of these failed, by status", both, func(c Cost) Counts { return c.Failed }))
	text.WriteString("\n" + breakdown("reconciles a machine, by controller", both, func(c Cost) Counts { return c.Reconciles }))
	return text.String()
}

// upstream are the numbers of CAPM3 for a fleet; measured are 200 and 1,000
// machines on as many hosts.
func (f Fleet) upstream() (seconds, memory, cpu string) {
	switch {
	case f.Hosts != f.Machines:
		return none, none, none
	case f.Machines == 200:
		return "31-39, tuned 23.5", none, none
	case f.Machines == 1000:
		return "627, tuned 320", "155", "180"
	}
	return none, none, none
}

func (f Fleet) rows() []row {
	seconds, memory, processor := f.upstream()
	per := func(count int) float64 { return float64(count) / float64(f.Machines) }
	requests := per(f.Association.Requests.sum(not(isApart)))
	whole := f.Association.plus(f.Provisioning)
	lists := f.Association.Requests["list baremetalhosts"]
	peak := float64(f.Peak) / mebibyte
	associated := row{"seconds until all have a host", fmt.Sprintf("%.1f", f.Associated), seconds, none, ""}
	if aim, ok := aimAssociated()[f.Machines]; ok {
		associated.aim, associated.verdict = fmt.Sprintf("< %.0f", aim), verdict(f.Associated < aim)
	}
	return []row{
		{name: fmt.Sprintf("%d machines on %d hosts in %d failure domains", f.Machines, f.Hosts, racks)},
		associated,
		{"seconds from a machine's creation to its host, median", fmt.Sprintf("%.2f", f.Median), none, none, ""},
		{"the same, 99 of 100", fmt.Sprintf("%.2f", f.P99), none, none, ""},
		{"Kubernetes requests a machine until it has its host", fmt.Sprintf("%.1f", requests), "8-18", fmt.Sprintf("<= %d", aimHostRequests), verdict(requests <= aimHostRequests)},
		{"lists of hosts in all", fmt.Sprint(lists), fmt.Sprint(f.Machines), "0", verdict(lists == 0)},
		{"Kubernetes requests a machine until it is provisioned", fmt.Sprintf("%.1f", per(whole.Requests.sum(not(isApart)))), none, none, ""},
		{"events, leases and watches a machine", fmt.Sprintf("%.1f", per(whole.Requests.sum(isApart))), none, none, ""},
		{"CPU-seconds of the manager until all have a host", fmt.Sprintf("%.1f", f.Association.CPU), processor, none, ""},
		{"CPU-seconds of the API server until all have a host", fmt.Sprintf("%.1f", f.Association.ServerCPU), none, none, ""},
		{"seconds more until all are provisioned", fmt.Sprintf("%.1f", f.Provisioned), none, none, ""},
		{"CPU-seconds of the manager in all", fmt.Sprintf("%.1f", whole.CPU), none, none, ""},
		{"MiB of the manager at the highest", fmt.Sprintf("%.0f", peak), memory, fmt.Sprintf("< %d", aimMemory), verdict(peak < aimMemory)},
		{"MiB of the API server at the highest", fmt.Sprintf("%.0f", float64(f.ServerPeak)/mebibyte), none, none, ""},
	}
}

func hostNotes() string {
	return `Hosts are available before the first machine is created and in memory of the manager, as are the Machines. A machine
has its host when it says so itself; the host's new spec is counted with it. Then the hosts begin to work, in no time.
Requests are those in the API server's audit log that have the manager's user agent; writes of events and leases are
apart, and so are watches. There is no workload cluster, so no Node is waited for.
`
}
