// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timing is how long things take in a simulated Harvester.
package timing

import "time"

// Delays are how long things take.
type Delays struct {
	// Import is until an image is there.
	Import time.Duration
	// Volume is until a PVC is bound.
	Volume time.Duration
	// Boot is until a virtual machine that has a host runs.
	Boot time.Duration
	// Agent is until the guest agent of a running one answers, which tells its addresses.
	Agent time.Duration
	// Shutdown is until one that is to stop has stopped.
	Shutdown time.Duration
	// Migration is how long one takes to get to another host.
	Migration time.Duration
	// Reset is until the virtual machines of a host that has gone are given up, to start elsewhere.
	Reset time.Duration
}
