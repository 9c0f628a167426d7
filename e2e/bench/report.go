// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Aims, with default flags.
const (
	aimCalls    = 12   // SOAP calls a VM
	aimRequests = 15   // Kubernetes requests a VM, without events, leases and watches
	aimSeconds  = 10   // until aimVMs VMs are ready
	aimVMs      = 100  // the number that aimSeconds is about
	aimCPU      = 0.05 // seconds a VM
	aimSync     = 2    // reconciles of an idle VM in all periods: no calls are no feat where nothing is done
	aimStock    = 15   // SOAP calls a VM, and seconds until aimVMs VMs are ready, with vcsim's own property collector
	noEffect    = 1.1  // a slow neighbour may cost a tenth
	noise       = 0.5  // and so many seconds, by which runs differ anyway
	none        = "-"  // where there is nothing to compare with
	unmeasured  = "not measured"
	missed      = "MISSED"
	mebibyte    = 1 << 20
)

// row is a line of the table. A row with a name only is a heading.
type row struct {
	name, ours, upstream, aim, verdict string
}

// Report turns the numbers into a text with a table and what stands behind it.
func Report(r Results) string {
	rows := []row{{"", "Faultline", "CAPV v1.14.0", "aim", ""}}
	rows = append(rows, createRows(r.Rollouts)...)
	rows = append(rows, stockRows(r.Stock)...)
	rows = append(rows, memoryRows(r.Rollouts)...)
	rows = append(rows, idleRows(r.Idle)...)
	rows = append(rows, zoneRows(r.Zones)...)
	rows = append(rows, neighbourRows(r.Neighbour)...)

	var text strings.Builder
	fmt.Fprintf(&text, "Provider %s on %d CPUs, shared with etcd, kube-apiserver and the simulated infrastructure; load before: %.1f\n\n", r.Provider, r.CPUs, r.Load)
	text.WriteString(align(rows))
	text.WriteString("\n" + notes())
	for _, part := range []struct {
		title string
		of    func(Cost) Counts
	}{
		{"vCenter calls a VM, by method", func(c Cost) Counts { return c.Calls }},
		{"Kubernetes requests a VM, by verb and resource", func(c Cost) Counts { return c.Requests }},
		{"of these failed, by status", func(c Cost) Counts { return c.Failed }},
		{"reconciles a VM, by controller", func(c Cost) Counts { return c.Reconciles }},
	} {
		text.WriteString("\n" + breakdown(part.title, columns(r.Rollouts), part.of))
	}
	text.WriteString("\n" + totals(r))
	return text.String()
}

func all(string) bool         { return true }
func isREST(name string) bool { return strings.HasPrefix(name, "REST ") }
func isSOAP(name string) bool { return !isREST(name) }

// isWork leaves out the stream, which waits for changes all the time.
func isWork(name string) bool { return isSOAP(name) && name != stream }

// isApart tells what is listed apart from Kubernetes requests: how many of them
// there are depends on time and chance.
func isApart(name string) bool {
	verb, resource, _ := strings.Cut(name, " ")
	return resource == "events" || resource == "leases" || verb == "watch"
}

func not(is func(string) bool) func(string) bool {
	return func(name string) bool { return !is(name) }
}

// createRows has a row for every measure and number of VMs.
func createRows(rollouts []Rollout) []row {
	rows := []row{{name: "From create to ready"}}
	if len(rollouts) == 0 {
		return append(rows, nothing())
	}
	for _, measure := range []struct {
		name, upstream string
		of             func(Cost) float64
		aim            float64 // 0 is none
		format         string
	}{
		{"SOAP calls a VM", "91-100", func(c Cost) float64 { return float64(c.Calls.sum(isSOAP)) }, aimCalls, "%.1f"},
		{"REST calls a VM", "6", func(c Cost) float64 { return float64(c.Calls.sum(isREST)) }, 0, "%.1f"},
		{"Kubernetes requests a VM", "36-58", func(c Cost) float64 { return float64(c.Requests.sum(not(isApart))) }, aimRequests, "%.1f"},
		{"events, leases and watches a VM", none, func(c Cost) float64 { return float64(c.Requests.sum(isApart)) }, 0, "%.1f"},
		{"CPU-seconds a VM", "0.14", func(c Cost) float64 { return c.CPU }, aimCPU, "%.3f"},
	} {
		for _, rollout := range rollouts {
			value := measure.of(rollout.Cost) / float64(rollout.VMs)
			line := row{name: among(measure.name, rollout.VMs), ours: fmt.Sprintf(measure.format, value), upstream: measure.upstream, aim: none}
			if measure.aim > 0 {
				line.aim, line.verdict = fmt.Sprintf("<= %v", measure.aim), verdict(value <= measure.aim)
			}
			rows = append(rows, line)
		}
	}
	for _, rollout := range rollouts {
		line := row{name: among("seconds until ready", rollout.VMs), ours: fmt.Sprintf("%.1f", rollout.Ready), upstream: none, aim: none}
		if rollout.VMs == aimVMs {
			line.upstream, line.aim, line.verdict = "88, tuned 28-36", fmt.Sprintf("< %d", aimSeconds), verdict(rollout.Ready < aimSeconds)
		}
		rows = append(rows, line)
	}
	return rows
}

// nothing stands where a scenario failed.
func nothing() row { return row{unmeasured, none, none, none, ""} }

func among(name string, vms int) string {
	if vms == 1 {
		return name + ", 1 VM"
	}
	return fmt.Sprintf("%s, %d VMs", name, vms)
}

func verdict(reached bool) string {
	if reached {
		return ""
	}
	return missed
}

// stockRows are about a vCenter that is slower to tell of changes than the simulator.
func stockRows(r Rollout) []row {
	heading := row{name: "From create to ready, with vcsim's own property collector"}
	if r.VMs == 0 {
		return []row{heading, nothing()}
	}
	calls := float64(r.Calls.sum(isSOAP)) / float64(r.VMs)
	seconds := row{among("seconds until ready", r.VMs), fmt.Sprintf("%.1f", r.Ready), none, none, ""}
	if r.VMs == aimVMs {
		seconds.upstream, seconds.aim, seconds.verdict = "88, tuned 28-36", fmt.Sprintf("< %d", aimStock), verdict(r.Ready < aimStock)
	}
	return []row{
		heading,
		{among("SOAP calls a VM", r.VMs), fmt.Sprintf("%.1f", calls), "91-100", fmt.Sprintf("<= %d", aimStock), verdict(calls <= aimStock)},
		seconds,
	}
}

// memoryRows are about the manager that had the most VMs.
func memoryRows(rollouts []Rollout) []row {
	heading := row{name: "Memory of the manager"}
	if len(rollouts) == 0 {
		return []row{heading, nothing()}
	}
	most := slices.MaxFunc(rollouts, func(a, b Rollout) int { return cmp.Compare(a.VMs, b.VMs) })
	mib := func(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/mebibyte) }
	return []row{
		heading,
		{among("MiB at the end", most.VMs), mib(most.RSS), "109-147", none, ""},
		{among("MiB at the highest", most.VMs), mib(most.Peak), none, none, ""},
	}
}

func idleRows(idle Idle) []row {
	if idle.VMs == 0 {
		return []row{{name: "Idle"}, nothing()}
	}
	per := func(count, of int) string { return fmt.Sprintf("%.2f", float64(count)/float64(of)) }
	periods := idle.VMs * idle.Periods
	soap, rest := idle.Calls.sum(isWork), idle.Calls.sum(isREST)
	reconciles := idle.Reconciles[vmController]
	touched := idle.Touched.Reconciles[vmController]
	return []row{
		{name: fmt.Sprintf("Idle, a VM and sync period (%d VMs, %d periods of %.0f s)", idle.VMs, idle.Periods, idle.SyncPeriod)},
		{"SOAP calls", per(soap, periods), "16", "0", verdict(soap == 0)},
		{"SOAP calls with those of the stream", per(idle.Calls.sum(isSOAP), periods), none, none, ""},
		{"REST calls", per(rest, periods), "2", "0", verdict(rest == 0)},
		{"Kubernetes requests", per(idle.Requests.sum(all), periods), none, none, ""},
		{"reconciles of a VSphereVM in all periods", per(reconciles, idle.VMs), none, fmt.Sprintf(">= %d", aimSync), verdict(reconciles >= aimSync*idle.VMs)},
		{name: fmt.Sprintf("Idle, a VM whose VSphereVM is touched (%d touched, %d reconciles)", idle.VMs, touched)},
		{"SOAP and REST calls", per(idle.Touched.Calls.sum(all), idle.VMs), none, none, ""},
	}
}

func zoneRows(zones Zones) []row {
	rows := []row{{name: "Zone check (calls a check that was due, without those of the stream)"}}
	if zones.First.Due == 0 {
		return append(rows, nothing())
	}
	for _, part := range []struct {
		name   string
		checks Checks
	}{{"first, with log in", zones.First}, {"unchanged", zones.Touched}, {"after a change of the inventory", zones.Changed}} {
		per := func(count int) string { return fmt.Sprintf("%.2f", float64(count)/float64(part.checks.Due)) }
		rows = append(rows,
			row{part.name + ", SOAP", per(part.checks.Calls.sum(isWork)), "22", none, ""},
			row{part.name + ", REST", per(part.checks.Calls.sum(isREST)), "33", none, ""},
			row{part.name + ", checks due / done", fmt.Sprintf("%d / %d", part.checks.Due, part.checks.Done), none, none, ""})
	}
	return rows
}

func neighbourRows(n Neighbour) []row {
	seconds := func(times []float64) string {
		if len(times) == 0 {
			return unmeasured
		}
		return fmt.Sprintf("%.1f", median(times))
	}
	// A run that failed has no time and is compared with nothing.
	effect := len(n.Alone) > 0 && median(n.Beside) > median(n.Alone)*noEffect+noise
	return []row{
		{name: fmt.Sprintf("Slow neighbour (%d VMs on each vCenter), seconds until ready, medians of %d", n.VMs, rounds)},
		{"a vCenter alone", seconds(n.Alone), "17", none, ""},
		{"beside one that is as fast", seconds(n.BesideFast), none, none, ""},
		{fmt.Sprintf("beside one that is %.0f s late", n.Delay), seconds(n.Beside), "295", "no effect", verdict(!effect)},
		{"the late one itself", seconds(n.Slow), none, none, ""},
	}
}

// align sets the rows as columns, names to the left and numbers to the right.
func align(rows []row) string {
	widths := make([]int, 4)
	for _, r := range rows {
		if r.ours == "" {
			continue // a heading may be longer than its column
		}
		for i, cell := range []string{r.name, r.ours, r.upstream, r.aim} {
			widths[i] = max(widths[i], len(cell)+2)
		}
	}
	var text strings.Builder
	for _, r := range rows {
		if r.ours == "" {
			fmt.Fprintf(&text, "%s\n", r.name)
			continue
		}
		line := fmt.Sprintf("  %-*s%*s%*s%*s  %s", widths[0], r.name, widths[1], r.ours, widths[2], r.upstream, widths[3], r.aim, r.verdict)
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// column is a number of machines and what they cost together.
type column struct {
	title    string
	machines int
	cost     Cost
}

func columns(rollouts []Rollout) []column {
	var list []column
	for _, rollout := range rollouts {
		list = append(list, column{strings.TrimSpace(among("", rollout.VMs)[1:]), rollout.VMs, rollout.Cost})
	}
	return list
}

// breakdown has a row for every name and a column for every number of machines.
func breakdown(title string, columns []column, of func(Cost) Counts) string {
	names := map[string]bool{}
	width := len(title)
	for _, column := range columns {
		for name := range of(column.cost) {
			names[name] = true
			width = max(width, len(name)+2)
		}
	}
	if len(names) == 0 {
		return title + ": none\n"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%-*s", width, title)
	for _, column := range columns {
		fmt.Fprintf(&text, "%*s", column.width(), column.title)
	}
	text.WriteString("\n")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&text, "  %-*s", width-2, name)
		for _, column := range columns {
			fmt.Fprintf(&text, "%*.2f", column.width(), float64(of(column.cost)[name])/float64(column.machines))
		}
		text.WriteString("\n")
	}
	return text.String()
}

func (c column) width() int { return max(10, len(c.title)+2) }

// totals lists what is not per VM.
func totals(r Results) string {
	var text strings.Builder
	for _, part := range []struct {
		title  string
		counts Counts
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
		fmt.Fprintf(&text, "%s: %d in all\n", part.title, part.counts.sum(all))
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
` + fmt.Sprintf("\"No effect\" allows for %.0f%% and %.1f s, by which runs differ.\n", (noEffect-1)*100, noise)
}
