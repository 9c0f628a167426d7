// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"time"
)

// Delays are the times that operations take.
type Delays struct {
	// Import is the time until an image is imported.
	Import time.Duration
	// Volume is the time until a PVC is bound.
	Volume time.Duration
	// Boot is the time until a scheduled virtual machine runs.
	Boot time.Duration
	// Agent is the time until the guest agent of a running virtual machine responds and reports its addresses.
	Agent time.Duration
	// Shutdown is the time that a virtual machine takes to stop.
	Shutdown time.Duration
	// Migration is the time that a migration takes.
	Migration time.Duration
	// Reset is the time until Harvester's policy puts an unresponsive host out of service, so that its virtual machines start on
	// other hosts. Defaults to DefaultReset.
	Reset time.Duration
	// Backoff is the time until a virtual machine that failed before it ran is started again for the first time. Defaults to
	// DefaultBackoff. It grows with the square of the number of failures.
	Backoff time.Duration
}

const (
	// DefaultReset is the default of Harvester 1.7 and later: 15 s until virtual machines are evicted, plus 180 s.
	DefaultReset = 195 * time.Second
	// DefaultBackoff is the value of KubeVirt.
	DefaultBackoff = 10 * time.Second
)

// UntilReset returns Reset or its default.
func (d Delays) UntilReset() time.Duration { return cmp.Or(d.Reset, DefaultReset) }

// FirstBackoff returns Backoff or its default.
func (d Delays) FirstBackoff() time.Duration { return cmp.Or(d.Backoff, DefaultBackoff) }
