// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"github.com/faultline-io/faultline/e2e/benchmark"
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
	Stock      Rollout              `json:"stockCollector"`
	Idle       Idle                 `json:"idle"`
	Zones      Zones                `json:"zones"`
	Neighbours benchmark.Neighbours `json:"neighbours"`
}

// Rollout is what it took to make a number of VMs at once.
type Rollout struct {
	VMs int `json:"vms"`
	// Ready is after how many seconds the last VM was ready.
	Ready float64 `json:"readySeconds"`
	benchmark.Cost
	// RSS and Peak are the manager's memory in bytes at the end, and at its highest.
	RSS  int64 `json:"rssBytes"`
	Peak int64 `json:"peakBytes"`
}

// Idle is what the manager did with VMs that were ready.
type Idle struct {
	VMs        int     `json:"vms"`
	Periods    int     `json:"periods"`
	SyncPeriod float64 `json:"syncPeriodSeconds"`
	benchmark.Cost
	// Touched is what the manager did when every VSphereVM was given an annotation.
	Touched benchmark.Cost `json:"touched"`
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
	benchmark.Cost
}
