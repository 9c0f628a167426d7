// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"time"
)

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
	// Reset is until Harvester's policy puts a host that does not answer out of service, so that its virtual machines start elsewhere:
	// DefaultReset without one.
	Reset time.Duration
	// Backoff is until a virtual machine that failed before it ran is started again for the first time: DefaultBackoff without one. It
	// grows with the square of the failures.
	Backoff time.Duration
}

const (
	// DefaultReset is what Harvester 1.7 and later take by default: 15 s until virtual machines are evicted, and 180 s more.
	DefaultReset = 195 * time.Second
	// DefaultBackoff is KubeVirt's.
	DefaultBackoff = 10 * time.Second
)

// UntilReset is Reset, or its default.
func (d Delays) UntilReset() time.Duration { return cmp.Or(d.Reset, DefaultReset) }

// FirstBackoff is Backoff, or its default.
func (d Delays) FirstBackoff() time.Duration { return cmp.Or(d.Backoff, DefaultBackoff) }
