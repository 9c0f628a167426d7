// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Disturbance makes one fault of an outside system again and again, with what it hits drawn each time.
type Disturbance struct {
	// Set makes the fault, or ends it.
	Set func(on bool, target []string) error
	// Targets returns what the fault can hit now. Without it the fault is made once, by Begin, and stays.
	Targets func() [][]string
	// AtOnce has the numbers of targets to draw from each time.
	AtOnce []int
	// Stays says that a fault is not ended before the next is made, Brief that it begins and ends by itself soon.
	Stays, Brief bool

	hit     [][]string
	pending sync.WaitGroup
	mu      sync.Mutex
	failed  []error // of what is brief
}

// longest is how long it takes at most until a brief fault begins, and until it ends then.
const longest = time.Second

// Begin makes a fault that stays from the start to the end.
func (d *Disturbance) Begin() error {
	if d.Set == nil || d.Targets != nil {
		return nil
	}
	return d.Set(true, nil)
}

// Next makes the fault somewhere else.
func (d *Disturbance) Next(random *rand.Rand) error {
	if d.Targets == nil {
		return nil
	}
	if !d.Stays && !d.Brief {
		if err := d.endAll(); err != nil {
			return err
		}
	}
	for range Pick(random, d.AtOnce) {
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

// later makes or ends a fault while the manager works.
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

// isHit reports whether the fault is to go elsewhere, because it is there. One that stays may be made twice: what it
// waited for may have happened.
func (d *Disturbance) isHit(target []string) bool {
	return !d.Stays && slices.ContainsFunc(d.hit, func(hit []string) bool { return slices.Equal(hit, target) })
}

// End ends all that was made. What stays from the start to the end goes on.
func (d *Disturbance) End() error {
	d.Wait()
	d.mu.Lock()
	failed := d.failed
	d.failed = nil
	d.mu.Unlock()
	return errors.Join(append(failed, d.endAll())...)
}

// Wait returns when nothing brief is still to come.
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

// unlessGone returns the error about a target, nil when that has gone meanwhile.
func (d *Disturbance) unlessGone(target []string, err error) error {
	if err != nil && !slices.ContainsFunc(d.Targets(), func(there []string) bool { return slices.Equal(there, target) }) {
		return nil
	}
	return err
}
