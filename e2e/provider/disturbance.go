// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/faultline-io/faultline/shared/faults"
)

// Disturbance injects one fault of an outside system repeatedly, each time into random targets.
type Disturbance struct {
	// Set injects the fault, or ends it.
	Set func(on bool, target []string) error
	// Targets returns the current possible targets. If it is nil, Begin injects the fault once, and it stays.
	Targets func() [][]string
	// Simultaneous holds the numbers of targets to choose from each time.
	Simultaneous []int
	// Stays keeps a fault active when the next one is injected. Brief faults begin and end by themselves soon.
	Stays, Brief bool

	hit     [][]string
	pending sync.WaitGroup
	mu      sync.Mutex
	failed  []error // errors of brief faults
}

// DisturbanceBy returns a Disturbance that injects a fault into a system, at the targets that there returns. The fault has a Chaos.
func DisturbanceBy[S, O, T any](ctx context.Context, fault *faults.Fault[S, O, T], system S, there func() []T) *Disturbance {
	d := &Disturbance{}
	if fault.Set != nil {
		d.Set = func(on bool, target []string) error { return fault.Set(ctx, system, on, target...) }
	}
	storm := fault.Chaos
	d.Simultaneous, d.Stays, d.Brief = storm.AtOnce, storm.Stays, storm.Brief
	if storm.Targets != nil {
		d.Targets = func() (all [][]string) {
			for _, one := range there() {
				all = append(all, storm.Targets(one)...)
			}
			return all
		}
	}
	return d
}

// longest is the maximum delay until a brief fault begins, and its maximum duration.
const longest = time.Second

// Begin injects a fault that stays for the whole run.
func (d *Disturbance) Begin() error {
	if d.Set == nil || d.Targets != nil {
		return nil
	}
	return d.Set(true, nil)
}

// Disturb injects the fault into other targets.
func (d *Disturbance) Disturb(random *rand.Rand) error {
	if d.Targets == nil {
		return nil
	}
	if !d.Stays && !d.Brief {
		if err := d.endAll(); err != nil {
			return err
		}
	}
	for range Pick(random, d.Simultaneous) {
		left := slices.DeleteFunc(d.Targets(), d.isHit)
		if len(left) == 0 {
			return nil
		}
		if err := d.make(random, Pick(random, left)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Disturbance) make(random *rand.Rand, target []string) error {
	if d.Brief {
		after, away := time.Duration(random.Int64N(int64(longest))), time.Duration(random.Int64N(int64(longest)))
		d.later(after, true, target)
		d.later(after+away, false, target)
		return nil
	}
	if err := d.unlessGone(target, d.Set(true, target)); err != nil {
		return err
	}
	if !d.isHit(target) {
		d.hit = append(d.hit, target)
	}
	return nil
}

// later injects or ends a fault while the manager works.
func (d *Disturbance) later(after time.Duration, on bool, target []string) {
	d.pending.Add(1)
	time.AfterFunc(after, func() {
		defer d.pending.Done()
		if err := d.Set(on, target); err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.failed = append(d.failed, err)
		}
	})
}

// isHit reports whether the fault needs another target, because this one already has it. A fault that stays may be injected twice: the
// event that it waited for may have happened.
func (d *Disturbance) isHit(target []string) bool {
	return !d.Stays && slices.ContainsFunc(d.hit, func(hit []string) bool { return slices.Equal(hit, target) })
}

// EndDisturbances ends all faults, except those that stay for the whole run.
func (d *Disturbance) EndDisturbances() error {
	d.Wait()
	d.mu.Lock()
	failed := d.failed
	d.failed = nil
	d.mu.Unlock()
	return errors.Join(append(failed, d.endAll())...)
}

// Wait waits until no brief fault is pending.
func (d *Disturbance) Wait() { d.pending.Wait() }

func (d *Disturbance) endAll() error {
	hit := d.hit
	d.hit = nil
	for _, target := range hit {
		if err := d.unlessGone(target, d.Set(false, target)); err != nil {
			return err
		}
	}
	return nil
}

// unlessGone returns the error about a target, or nil if the target has been deleted in the meantime.
func (d *Disturbance) unlessGone(target []string, err error) error {
	if err != nil && !slices.ContainsFunc(d.Targets(), func(there []string) bool { return slices.Equal(there, target) }) {
		return nil
	}
	return err
}
