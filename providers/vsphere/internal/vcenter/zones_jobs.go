// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"maps"
	"sync"
	"time"
)

// configureTimeout bounds one run of work for a zone.
const configureTimeout = 5 * time.Minute

// zoneJobs holds the work in progress for zones and its results.
type zoneJobs struct {
	background func(func(context.Context))
	done       func()

	mu  sync.Mutex
	of  map[string]*zoneJob
	now func() time.Time
}

type zoneJob struct {
	digest  string
	outcome Outcome
	again   time.Time
}

func newZoneJobs(background func(func(context.Context)), done func()) *zoneJobs {
	return &zoneJobs{background: background, done: done, of: map[string]*zoneJob{}, now: time.Now}
}

// do starts work, unless it is running or finished recently. Thus what vCenter rejected is not requested again with every
// change of the inventory, and there is no fight with a client that reverts our changes.
func (j *zoneJobs) do(key, digest string, pause time.Duration, work func(context.Context) Outcome) Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known, ok := j.known(key, digest); ok {
		return known
	}
	// This includes the jobs of deleted zones.
	maps.DeleteFunc(j.of, func(_ string, of *zoneJob) bool { return !of.outcome.Running && !j.now().Before(of.again) })
	started := &zoneJob{digest: digest, outcome: Outcome{Running: true}}
	j.of[key] = started
	j.background(func(ctx context.Context) {
		bounded, cancel := context.WithTimeout(ctx, configureTimeout)
		defer cancel()
		outcome := work(bounded)
		j.mu.Lock()
		started.outcome, started.again = outcome, j.now().Add(pause)
		j.mu.Unlock()
		j.done()
	})
	return started.outcome
}

// running reports whether work for a zone is running.
func (j *zoneJobs) running(key string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	of, ok := j.of[key]
	return ok && of.outcome.Running
}

// known returns the outcome of the same work if it is running or finished recently. The caller must hold the lock.
func (j *zoneJobs) known(key, digest string) (Outcome, bool) {
	known, ok := j.of[key]
	if !ok || !known.outcome.Running && (known.digest != digest || !j.now().Before(known.again)) {
		return Outcome{}, false
	}
	return known.outcome, true
}
