// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/managementcluster"
)

const (
	// named is the number of processes and calls that are listed individually; the others are summed up.
	named = 6
	mib   = 1 << 20
)

// Timing holds how long a step took.
type Timing struct {
	Step string
	Took time.Duration
}

// Costs holds the calls to the infrastructure for creating machines until they are ready.
type Costs struct {
	Machines int
	Calls    map[string]int
}

// Memory lists the memory of processes, the largest first.
func Memory(processes []managementcluster.Process) string {
	var now, peak int64
	for _, p := range processes {
		now, peak = now+p.Memory, peak+p.Peak
	}
	if now == 0 {
		return "not available on this system"
	}
	slices.SortStableFunc(processes, func(a, b managementcluster.Process) int { return cmp.Compare(b.Memory, a.Memory) })
	var largest []string
	for _, p := range processes[:min(named, len(processes))] {
		largest = append(largest, fmt.Sprintf("%s %d", p.Name, p.Memory/mib))
	}
	return fmt.Sprintf("%d MiB in %d processes, %d MiB at their peaks (%s)", now/mib, len(processes), peak/mib, strings.Join(largest, ", "))
}

// Difference returns the calls between two counts.
func Difference(before, after map[string]int) map[string]int {
	calls := map[string]int{}
	for name, n := range after {
		if n -= before[name]; n > 0 {
			calls[name] = n
		}
	}
	return calls
}

// Words describes the cost of a machine.
func (c Costs) Words() string {
	total := 0
	for _, n := range c.Calls {
		total += n
	}
	if c.Machines == 0 || total == 0 {
		return "none"
	}
	names := slices.SortedFunc(maps.Keys(c.Calls), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Calls[b], c.Calls[a]), cmp.Compare(a, b))
	})
	var most []string
	for _, name := range names[:min(named, len(names))] {
		most = append(most, fmt.Sprintf("%s %d", name, c.Calls[name]))
	}
	return fmt.Sprintf("%d for %d machines from nothing to ready, %.1f each (%s)",
		total, c.Machines, float64(total)/float64(c.Machines), strings.Join(most, ", "))
}

// Timings formats a table with the duration of each step and in total.
func Timings(steps []Timing, inAll time.Duration) string {
	var text strings.Builder
	width := 0
	for _, t := range steps {
		width = max(width, len(t.Step))
	}
	for _, t := range steps {
		fmt.Fprintf(&text, "  %-*s %8s\n", width, t.Step, Seconds(t.Took))
	}
	fmt.Fprintf(&text, "  %-*s %8s\n", width, "in all", Seconds(inAll))
	return text.String()
}
