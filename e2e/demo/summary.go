// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	// named processes and calls are told of one by one, the others only in sum.
	named = 6
	mib   = 1 << 20
)

// summary words how it went: times, memory, and what a machine cost in calls.
func (d *demo) summary() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\nWhere %s had the machines\n  %s\n", d.about.System, strings.Join(d.placed, "\n  "))
	if d.failed.Name != "" {
		fmt.Fprintf(&text, "  While %s was broken, %s was replaced by %s in %s.\n", d.failed.Domain, d.failed.Name, d.replacement.Name, d.replacement.Domain)
	}
	fmt.Fprintln(&text, "\nSummary")
	width := 0
	for _, t := range d.timings {
		width = max(width, len(t.step))
	}
	for _, t := range d.timings {
		fmt.Fprintf(&text, "  %-*s %8s\n", width, t.step, seconds(t.took))
	}
	fmt.Fprintf(&text, "  %-*s %8s\n", width, "in all", seconds(time.Since(d.began)))
	processes := append(d.management.Processes(), managementcluster.Self("demo"))
	fmt.Fprintf(&text, "  memory: %s\n", memoryWords(processes))
	if _, counted := d.infrastructure.(provider.Counter); counted {
		fmt.Fprintf(&text, "  calls to %s: %s\n", d.about.System, d.calls.words())
	}
	return text.String()
}

func memoryWords(processes []managementcluster.Process) string {
	var now, peak int64
	for _, p := range processes {
		now, peak = now+p.Memory, peak+p.Peak
	}
	if now == 0 {
		return "not known on this system"
	}
	slices.SortStableFunc(processes, func(a, b managementcluster.Process) int { return cmp.Compare(b.Memory, a.Memory) })
	var largest []string
	for _, p := range processes[:min(named, len(processes))] {
		largest = append(largest, fmt.Sprintf("%s %d", p.Name, p.Memory/mib))
	}
	return fmt.Sprintf("%d MiB in %d processes, %d MiB at their peaks (%s)", now/mib, len(processes), peak/mib, strings.Join(largest, ", "))
}

// difference counts what was called in between.
func difference(before, after map[string]int) map[string]int {
	calls := map[string]int{}
	for name, n := range after {
		if n -= before[name]; n > 0 {
			calls[name] = n
		}
	}
	return calls
}

func (c costs) words() string {
	total := 0
	for _, n := range c.calls {
		total += n
	}
	if c.machines == 0 || total == 0 {
		return "none"
	}
	names := slices.SortedFunc(maps.Keys(c.calls), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.calls[b], c.calls[a]), cmp.Compare(a, b))
	})
	var most []string
	for _, name := range names[:min(named, len(names))] {
		most = append(most, fmt.Sprintf("%s %d", name, c.calls[name]))
	}
	return fmt.Sprintf("%d for %d machines from nothing to ready, %.1f each (%s)",
		total, c.machines, float64(total)/float64(c.machines), strings.Join(most, ", "))
}
