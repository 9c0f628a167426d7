// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import "strings"

// Cost holds what a manager did in a period of time.
type Cost struct {
	// Calls counts calls to the infrastructure by method.
	Calls Counts
	// Requests counts requests to the Kubernetes API by verb and resource, for example "patch pods/status".
	Requests Counts
	// Reconciles counts reconciles by controller.
	Reconciles Counts
	// CPU is the user and system CPU time of the manager in seconds.
	CPU float64
}

// Minus returns the difference to an earlier cost.
func (c Cost) Minus(before Cost) Cost {
	return Cost{
		Calls: c.Calls.minus(before.Calls), Requests: c.Requests.minus(before.Requests), Reconciles: c.Reconciles.minus(before.Reconciles),
		CPU: c.CPU - before.CPU,
	}
}

// Work returns the number of requests to the Kubernetes API, without those that are listed separately.
func (c Cost) Work() int { return c.Requests.Sum(Except(IsApart)) }

// Counts maps names to numbers of occurrences.
type Counts map[string]int

func (c Counts) minus(before Counts) Counts {
	left := Counts{}
	for name, count := range c {
		if count != before[name] {
			left[name] = count - before[name]
		}
	}
	return left
}

// Sum adds up the counts whose names keep selects.
func (c Counts) Sum(keep func(name string) bool) int {
	total := 0
	for name, count := range c {
		if keep(name) {
			total += count
		}
	}
	return total
}

// All selects every name.
func All(string) bool { return true }

// IsApart reports whether a request is listed separately, because the number of such requests depends on time and chance.
func IsApart(name string) bool {
	verb, resource, _ := strings.Cut(name, " ")
	return resource == "events" || resource == "leases" || verb == "watch"
}

// Except negates a selection.
func Except(is func(string) bool) func(string) bool {
	return func(name string) bool { return !is(name) }
}
