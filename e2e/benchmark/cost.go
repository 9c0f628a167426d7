// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"maps"
	"strings"
)

// Cost holds what a manager did in a period of time.
type Cost struct {
	// Calls counts calls to the infrastructure by method.
	Calls Counts
	// Requests counts requests to the Kubernetes API by verb and resource, for example "patch pods/status".
	Requests Counts
	// Failed counts the requests that were answered with an error, for example "get pods 404".
	Failed Counts
	// Reconciles counts reconciles by controller.
	Reconciles Counts
	// CPU and ServerCPU are the user and system CPU time of the manager and of the API server in seconds.
	CPU, ServerCPU float64
}

// Minus returns the difference to an earlier cost.
func (c Cost) Minus(before Cost) Cost { return c.combine(before, -1) }

// Plus returns the sum of two costs.
func (c Cost) Plus(other Cost) Cost { return c.combine(other, 1) }

func (c Cost) combine(other Cost, sign int) Cost {
	return Cost{
		Calls: c.Calls.combine(other.Calls, sign), Requests: c.Requests.combine(other.Requests, sign),
		Failed: c.Failed.combine(other.Failed, sign), Reconciles: c.Reconciles.combine(other.Reconciles, sign),
		CPU: c.CPU + float64(sign)*other.CPU, ServerCPU: c.ServerCPU + float64(sign)*other.ServerCPU,
	}
}

// Work returns the number of requests to the Kubernetes API, without those that are listed separately.
func (c Cost) Work() int { return c.Requests.Sum(Except(IsApart)) }

// Counts maps names to numbers of occurrences.
type Counts map[string]int

func (c Counts) combine(other Counts, sign int) Counts {
	total := Counts{}
	maps.Copy(total, c)
	for name, count := range other {
		total[name] += sign * count
	}
	maps.DeleteFunc(total, func(_ string, count int) bool { return count == 0 })
	return total
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
