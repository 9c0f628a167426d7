// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"maps"
	"sync"
	"time"
)

// configureTimeout bounds what is done for a zone in one go.
const configureTimeout = 5 * time.Minute

// zoneJobs are what is being done for zones, and what came of it.
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

// do starts what is to be done, unless it is under way, or was done not long ago: what vCenter refuses is not asked for again
// with every change of the inventory, and who takes back what we put back is not fought with.
func (j *zoneJobs) do(key, digest string, pause time.Duration, work func(context.Context) Outcome) Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known, ok := j.known(key, digest); ok {
		return known
	}
	maps.DeleteFunc(j.of, func(_ string, of *zoneJob) bool { return !of.outcome.Running && !j.now().Before(of.again) }) // of zones that are gone, too
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

// known is what came of the same not long ago, or what is under way. The lock is held.
func (j *zoneJobs) known(key, digest string) (Outcome, bool) {
	known, ok := j.of[key]
	if !ok || !known.outcome.Running && (known.digest != digest || !j.now().Before(known.again)) {
		return Outcome{}, false
	}
	return known.outcome, true
}
