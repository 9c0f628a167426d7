// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"maps"
	"slices"
)

// Median returns 0 if there is none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Cost is what a manager did in some time.
type Cost struct {
	// Calls to the infrastructure, by method.
	Calls Counts `json:"calls"`
	// Requests to the Kubernetes API by verb and resource, as "patch pods/status".
	Requests Counts `json:"requests"`
	// Failed are those of them that were answered with an error, as "get pods 404".
	Failed Counts `json:"failedRequests"`
	// Reconciles by controller.
	Reconciles Counts `json:"reconciles"`
	// CPU is in seconds, of user and system time.
	CPU float64 `json:"cpuSeconds"`
	// ServerCPU is that of the API server.
	ServerCPU float64 `json:"serverCPUSeconds"`
}

// Minus is what was done since.
func (c Cost) Minus(before Cost) Cost {
	return Cost{
		Calls: c.Calls.Minus(before.Calls), Requests: c.Requests.Minus(before.Requests), Failed: c.Failed.Minus(before.Failed),
		Reconciles: c.Reconciles.Minus(before.Reconciles), CPU: c.CPU - before.CPU, ServerCPU: c.ServerCPU - before.ServerCPU,
	}
}

// Counts says how often each of some things happened.
type Counts map[string]int

// Minus is what was counted since.
func (c Counts) Minus(before Counts) Counts {
	difference := maps.Clone(c)
	for name, count := range before {
		difference[name] -= count
	}
	maps.DeleteFunc(difference, func(_ string, count int) bool { return count == 0 })
	return difference
}

// Sum adds up what keep names.
func (c Counts) Sum(keep func(name string) bool) int {
	total := 0
	for name, count := range c {
		if keep(name) {
			total += count
		}
	}
	return total
}

// Plus adds up what was done in two spans of time.
func (c Cost) Plus(other Cost) Cost {
	return Cost{
		Calls: c.Calls.Plus(other.Calls), Requests: c.Requests.Plus(other.Requests), Failed: c.Failed.Plus(other.Failed),
		Reconciles: c.Reconciles.Plus(other.Reconciles), CPU: c.CPU + other.CPU, ServerCPU: c.ServerCPU + other.ServerCPU,
	}
}

// Plus adds up.
func (c Counts) Plus(other Counts) Counts {
	total := Counts{}
	for _, counts := range []Counts{c, other} {
		for name, count := range counts {
			total[name] += count
		}
	}
	return total
}
