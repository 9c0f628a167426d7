// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"maps"
	"slices"
)

// Results are the raw numbers of a run.
type Results struct {
	Provider string `json:"provider"`
	// CPUs of the machine, which everything that runs shares.
	CPUs int `json:"cpus"`
	// Load is how many programs wanted a CPU on average before the run began. Times
	// of a run that began with more than none say little.
	Load     float64   `json:"load"`
	Rollouts []Rollout `json:"rollouts"`
	// Stock is a rollout on a vCenter with vcsim's own property collector; none where the
	// scenario failed.
	Stock     Rollout   `json:"stockCollector"`
	Idle      Idle      `json:"idle"`
	Zones     Zones     `json:"zones"`
	Neighbour Neighbour `json:"neighbour"`
}

// Rollout is what it took to make a number of VMs at once.
type Rollout struct {
	VMs int `json:"vms"`
	// Ready is after how many seconds the last VM was ready.
	Ready float64 `json:"readySeconds"`
	Cost
	// RSS and Peak are the manager's memory in bytes at the end, and at its highest.
	RSS  int64 `json:"rssBytes"`
	Peak int64 `json:"peakBytes"`
}

// Idle is what the manager did with VMs that were ready.
type Idle struct {
	VMs        int     `json:"vms"`
	Periods    int     `json:"periods"`
	SyncPeriod float64 `json:"syncPeriodSeconds"`
	Cost
	// Touched is what the manager did when every VSphereVM was given an annotation.
	Touched Cost `json:"touched"`
}

// Zones is what it takes to check a zone.
type Zones struct {
	// First are the first checks, with the log in and the first inventory.
	First Checks `json:"first"`
	// Touched are checks of an unchanged zone.
	Touched Checks `json:"touched"`
	// Changed are checks after a change of the inventory.
	Changed Checks `json:"changed"`
}

// Checks are a number of checks of zones.
type Checks struct {
	// Due are those that there was a reason for, Done those that happened.
	Due  int `json:"due"`
	Done int `json:"done"`
	Cost
}

// Neighbour compares a vCenter alone and beside another. Times are the seconds
// until all VMs of a vCenter were ready, one for each round; none where the scenario
// failed.
type Neighbour struct {
	VMs   int       `json:"vms"`
	Delay float64   `json:"delaySeconds"`
	Alone []float64 `json:"aloneSeconds"`
	// BesideFast is how long it took beside a vCenter that is as fast, Beside how
	// long beside the slow one, and Slow how long that took itself.
	BesideFast []float64 `json:"besideFastSeconds"`
	Beside     []float64 `json:"besideSeconds"`
	Slow       []float64 `json:"slowSeconds"`
}

// median answers 0 if there is none.
func median(values []float64) float64 {
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

func (c Cost) minus(before Cost) Cost {
	return Cost{
		Calls: c.Calls.minus(before.Calls), Requests: c.Requests.minus(before.Requests), Failed: c.Failed.minus(before.Failed),
		Reconciles: c.Reconciles.minus(before.Reconciles), CPU: c.CPU - before.CPU, ServerCPU: c.ServerCPU - before.ServerCPU,
	}
}

// Counts says how often each of some things happened.
type Counts map[string]int

func (c Counts) minus(before Counts) Counts {
	difference := maps.Clone(c)
	for name, count := range before {
		difference[name] -= count
	}
	maps.DeleteFunc(difference, func(_ string, count int) bool { return count == 0 })
	return difference
}

// sum adds up what keep names.
func (c Counts) sum(keep func(name string) bool) int {
	total := 0
	for name, count := range c {
		if keep(name) {
			total += count
		}
	}
	return total
}
