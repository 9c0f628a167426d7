// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"context"
	"maps"
	"sync"
	"time"
)

// configureTimeout bounds what is done for a zone in one go.
const configureTimeout = 5 * time.Minute

// jobs are what is being done for zones, and what came of it.
type jobs struct {
	background func(func(context.Context))
	done       func()

	mu  sync.Mutex
	of  map[string]*job
	now func() time.Time
}

type job struct {
	digest  string
	outcome Outcome
	again   time.Time
}

func newJobs(background func(func(context.Context)), done func()) *jobs {
	return &jobs{background: background, done: done, of: map[string]*job{}, now: time.Now}
}

// do starts what is to be done, unless it is under way, or was done not long ago: what vCenter refuses is not asked for again
// with every change of the inventory, and who takes back what we put back is not fought with.
func (j *jobs) do(key, digest string, pause time.Duration, work func(context.Context) Outcome) Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known, ok := j.known(key, digest); ok {
		return known
	}
	maps.DeleteFunc(j.of, func(_ string, of *job) bool { return !of.outcome.Running && !j.now().Before(of.again) }) // of zones that are gone, too
	started := &job{digest: digest, outcome: Outcome{Running: true}}
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
func (j *jobs) known(key, digest string) (Outcome, bool) {
	known, ok := j.of[key]
	if !ok || !known.outcome.Running && (known.digest != digest || !j.now().Before(known.again)) {
		return Outcome{}, false
	}
	return known.outcome, true
}
