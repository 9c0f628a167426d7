// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

// Aims, with default flags.
const (
	aimCalls    = 12   // SOAP calls a VM
	aimRequests = 15   // Kubernetes requests a VM, without events, leases and watches
	aimSeconds  = 10   // until aimVMs VMs are ready
	aimVMs      = 100  // the number that aimSeconds is about
	aimCPU      = 0.05 // seconds a VM
	aimSync     = 2    // reconciles of an idle VM in all periods: few calls only count if work was done
	aimStock    = 15   // SOAP calls a VM, and seconds until aimVMs VMs are ready, with vcsim's own property collector
)

// Report turns the numbers into a text with a table and what stands behind it.
func (r Results) Report() string {
	rows := []benchmark.Row{benchmark.Line("", "Faultline", "CAPV v1.14.0", "aim", "")}
	rows = append(rows, createRows(r.Rollouts)...)
	rows = append(rows, stockRows(r.Stock)...)
	rows = append(rows, memoryRows(r.Rollouts)...)
	rows = append(rows, idleRows(r.Idle)...)
	rows = append(rows, zoneRows(r.Zones)...)
	rows = append(rows, r.Neighbours.Rows("a vCenter", "17", "295")...)

	var text strings.Builder
	fmt.Fprintf(&text, "Provider %s on %d CPUs, shared with etcd, kube-apiserver and the simulated infrastructure; load before: %.1f\n\n", r.Provider, r.CPUs, r.Load)
	text.WriteString(benchmark.Align(rows))
	text.WriteString("\n" + notes())
	for _, part := range []struct {
		title string
		of    func(benchmark.Cost) benchmark.Counts
	}{
		{"vCenter calls a VM, by method", func(c benchmark.Cost) benchmark.Counts { return c.Calls }},
		{"Kubernetes requests a VM, by verb and resource", func(c benchmark.Cost) benchmark.Counts { return c.Requests }},
		{"of these failed, by status", func(c benchmark.Cost) benchmark.Counts { return c.Failed }},
		{"reconciles a VM, by controller", func(c benchmark.Cost) benchmark.Counts { return c.Reconciles }},
	} {
		text.WriteString("\n" + benchmark.Breakdown(part.title, columns(r.Rollouts), part.of))
	}
	text.WriteString("\n" + totals(r))
	return text.String()
}

func isREST(name string) bool { return strings.HasPrefix(name, "REST ") }
func isSOAP(name string) bool { return !isREST(name) }

// isWork leaves out the stream, which waits for changes all the time.
func isWork(name string) bool { return isSOAP(name) && name != stream }

// createRows has a row for every measure and number of VMs.
func createRows(rollouts []Rollout) []benchmark.Row {
	rows := []benchmark.Row{{Name: "From create to ready"}}
	if len(rollouts) == 0 {
		return append(rows, benchmark.Nothing())
	}
	for _, measure := range []struct {
		name, upstream string
		of             func(benchmark.Cost) float64
		aim            float64 // 0 is none
		format         string
	}{
		{"SOAP calls a VM", "91-100", func(c benchmark.Cost) float64 { return float64(c.Calls.Sum(isSOAP)) }, aimCalls, "%.1f"},
		{"REST calls a VM", "6", func(c benchmark.Cost) float64 { return float64(c.Calls.Sum(isREST)) }, 0, "%.1f"},
		{"Kubernetes requests a VM", "36-58", func(c benchmark.Cost) float64 { return float64(c.Requests.Sum(benchmark.Except(benchmark.IsApart))) }, aimRequests, "%.1f"},
		{"events, leases and watches a VM", benchmark.None, func(c benchmark.Cost) float64 { return float64(c.Requests.Sum(benchmark.IsApart)) }, 0, "%.1f"},
		{"CPU-seconds a VM", "0.14", func(c benchmark.Cost) float64 { return c.CPU }, aimCPU, "%.3f"},
	} {
		for _, rollout := range rollouts {
			value := measure.of(rollout.Cost) / float64(rollout.VMs)
			line := benchmark.Row{Name: among(measure.name, rollout.VMs), Ours: fmt.Sprintf(measure.format, value), Upstream: measure.upstream, Aim: benchmark.None}
			if measure.aim > 0 {
				line.Aim, line.Verdict = fmt.Sprintf("<= %v", measure.aim), benchmark.Verdict(value <= measure.aim)
			}
			rows = append(rows, line)
		}
	}
	for _, rollout := range rollouts {
		line := benchmark.Row{Name: among("seconds until ready", rollout.VMs), Ours: fmt.Sprintf("%.1f", rollout.Ready), Upstream: benchmark.None, Aim: benchmark.None}
		if rollout.VMs == aimVMs {
			line.Upstream, line.Aim, line.Verdict = "88, tuned 28-36", fmt.Sprintf("< %d", aimSeconds), benchmark.Verdict(rollout.Ready < aimSeconds)
		}
		rows = append(rows, line)
	}
	return rows
}

func among(name string, vms int) string {
	if vms == 1 {
		return name + ", 1 VM"
	}
	return fmt.Sprintf("%s, %d VMs", name, vms)
}

// stockRows are about a vCenter that is slower to tell of changes than the simulator.
func stockRows(r Rollout) []benchmark.Row {
	heading := benchmark.Row{Name: "From create to ready, with vcsim's own property collector"}
	if r.VMs == 0 {
		return []benchmark.Row{heading, benchmark.Nothing()}
	}
	calls := float64(r.Calls.Sum(isSOAP)) / float64(r.VMs)
	seconds := benchmark.Line(among("seconds until ready", r.VMs), fmt.Sprintf("%.1f", r.Ready), benchmark.None, benchmark.None, "")
	if r.VMs == aimVMs {
		seconds.Upstream, seconds.Aim, seconds.Verdict = "88, tuned 28-36", fmt.Sprintf("< %d", aimStock), benchmark.Verdict(r.Ready < aimStock)
	}
	return []benchmark.Row{
		heading,
		benchmark.Line(among("SOAP calls a VM", r.VMs), fmt.Sprintf("%.1f", calls), "91-100", fmt.Sprintf("<= %d", aimStock), benchmark.Verdict(calls <= aimStock)),
		seconds,
	}
}

// memoryRows are about the manager that had the most VMs.
func memoryRows(rollouts []Rollout) []benchmark.Row {
	heading := benchmark.Row{Name: "Memory of the manager"}
	if len(rollouts) == 0 {
		return []benchmark.Row{heading, benchmark.Nothing()}
	}
	most := slices.MaxFunc(rollouts, func(a, b Rollout) int { return cmp.Compare(a.VMs, b.VMs) })
	mib := func(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/benchmark.Mebibyte) }
	return []benchmark.Row{
		heading,
		benchmark.Line(among("MiB at the end", most.VMs), mib(most.RSS), "109-147", benchmark.None, ""),
		benchmark.Line(among("MiB at the highest", most.VMs), mib(most.Peak), benchmark.None, benchmark.None, ""),
	}
}

func idleRows(idle Idle) []benchmark.Row {
	if idle.VMs == 0 {
		return []benchmark.Row{{Name: "Idle"}, benchmark.Nothing()}
	}
	per := func(count, of int) string { return fmt.Sprintf("%.2f", float64(count)/float64(of)) }
	periods := idle.VMs * idle.Periods
	soap, rest := idle.Calls.Sum(isWork), idle.Calls.Sum(isREST)
	reconciles := idle.Reconciles[vmController]
	touched := idle.Touched.Reconciles[vmController]
	return []benchmark.Row{
		{Name: fmt.Sprintf("Idle, a VM and sync period (%d VMs, %d periods of %.0f s)", idle.VMs, idle.Periods, idle.SyncPeriod)},
		benchmark.Line("SOAP calls", per(soap, periods), "16", "0", benchmark.Verdict(soap == 0)),
		benchmark.Line("SOAP calls with those of the stream", per(idle.Calls.Sum(isSOAP), periods), benchmark.None, benchmark.None, ""),
		benchmark.Line("REST calls", per(rest, periods), "2", "0", benchmark.Verdict(rest == 0)),
		benchmark.Line("Kubernetes requests", per(idle.Requests.Sum(benchmark.All), periods), benchmark.None, benchmark.None, ""),
		benchmark.Line("reconciles of a VSphereVM in all periods", per(reconciles, idle.VMs), benchmark.None, fmt.Sprintf(">= %d", aimSync), benchmark.Verdict(reconciles >= aimSync*idle.VMs)),
		{Name: fmt.Sprintf("Idle, a VM whose VSphereVM is touched (%d touched, %d reconciles)", idle.VMs, touched)},
		benchmark.Line("SOAP and REST calls", per(idle.Touched.Calls.Sum(benchmark.All), idle.VMs), benchmark.None, benchmark.None, ""),
	}
}

func zoneRows(zones Zones) []benchmark.Row {
	rows := []benchmark.Row{{Name: "Zone check (calls a check that was due, without those of the stream)"}}
	if zones.First.Due == 0 {
		return append(rows, benchmark.Nothing())
	}
	for _, part := range []struct {
		name   string
		checks Checks
	}{{"first, with log in", zones.First}, {"unchanged", zones.Touched}, {"after a change of the inventory", zones.Changed}} {
		per := func(count int) string { return fmt.Sprintf("%.2f", float64(count)/float64(part.checks.Due)) }
		rows = append(rows,
			benchmark.Line(part.name+", SOAP", per(part.checks.Calls.Sum(isWork)), "22", benchmark.None, ""),
			benchmark.Line(part.name+", REST", per(part.checks.Calls.Sum(isREST)), "33", benchmark.None, ""),
			benchmark.Line(part.name+", checks due / done", fmt.Sprintf("%d / %d", part.checks.Due, part.checks.Done), benchmark.None, benchmark.None, ""))
	}
	return rows
}

func columns(rollouts []Rollout) []benchmark.Column {
	var list []benchmark.Column
	for _, rollout := range rollouts {
		list = append(list, benchmark.Column{Title: strings.TrimSpace(among("", rollout.VMs)[1:]), Machines: rollout.VMs, Cost: rollout.Cost})
	}
	return list
}

// totals lists what is not per VM.
func totals(r Results) string {
	var text strings.Builder
	for _, part := range []struct {
		title  string
		counts benchmark.Counts
	}{
		{"vCenter calls to log in, read the inventory and check the zones", r.Zones.First.Calls},
		{"vCenter calls while idle", r.Idle.Calls},
		{"Kubernetes requests while idle", r.Idle.Requests},
		{"reconciles while idle", r.Idle.Reconciles},
		{"vCenter calls after touching VSphereVMs", r.Idle.Touched.Calls},
		{"Kubernetes requests after touching VSphereVMs", r.Idle.Touched.Requests},
		{"vCenter calls after touching zones", r.Zones.Touched.Calls},
		{"vCenter calls after changes of the inventory", r.Zones.Changed.Calls},
	} {
		fmt.Fprintf(&text, "%s: %d in all\n", part.title, part.counts.Sum(benchmark.All))
		for _, name := range slices.Sorted(maps.Keys(part.counts)) {
			fmt.Fprintf(&text, "  %6d  %s\n", part.counts[name], name)
		}
	}
	return text.String()
}

func notes() string {
	return `Counted are calls as they arrive at the vCenter, those of the stream included unless said otherwise, and requests
as the API server's audit log has them for the manager's user agent; writes of events and leases are apart, and so
are watches that the server made the manager start again. Time runs from the first VSphereMachine created until the
last has status.initialization.provisioned; counts and CPU run on until the manager has come to rest. Logging in, the
first inventory and the first zone checks come before.
` + benchmark.NoEffect()
}
