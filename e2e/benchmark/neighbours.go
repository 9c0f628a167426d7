// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// neighbourDelay is how late every answer of a slow infrastructure is.
	neighbourDelay = 2 * time.Second
	// rounds is how often machines are made. The times are the medians: on a machine that does something else too, a single one says little.
	rounds = 3

	noEffect = 1.1 // a slow neighbour may cost a tenth
	noise    = 0.5 // and so many seconds, by which runs differ anyway
)

// Neighbour is one of the infrastructures with which a manager works at the same time.
type Neighbour interface {
	Counted
	// Prepare makes what the machines of a round need, and returns what makes these and waits until they are ready.
	Prepare(ctx context.Context, round int) (provision func(context.Context) error, err error)
}

// MakeNeighbour starts an infrastructure that answers late by a delay, once the manager is connected to it.
type MakeNeighbour func(ctx context.Context, e *Environment, name string, delay time.Duration) (Neighbour, error)

// Neighbours compares an infrastructure alone and beside another. Times are the seconds until all machines of one were ready, one for each
// round; none where the scenario failed.
type Neighbours struct {
	Machines int       `json:"machines"`
	Delay    float64   `json:"delaySeconds"`
	Alone    []float64 `json:"aloneSeconds"`
	// BesideFast is how long it took beside one that is as fast, Beside how long beside the slow one, and Slow how long that took itself.
	BesideFast []float64 `json:"besideFastSeconds"`
	Beside     []float64 `json:"besideSeconds"`
	Slow       []float64 `json:"slowSeconds"`
}

// Measure has a scenario for each comparison.
func (n *Neighbours) Measure(ctx context.Context, b *Runner, start MakeNeighbour) error {
	n.Delay = neighbourDelay.Seconds()
	const first, second = "first", "second"
	var errs []error
	for _, scenario := range []struct {
		name   string
		delays map[string]time.Duration
		note   func(times map[string][]float64)
	}{
		{"alone", map[string]time.Duration{first: 0}, func(t map[string][]float64) { n.Alone = t[first] }},
		{"fast-neighbour", map[string]time.Duration{first: 0, second: 0}, func(t map[string][]float64) { n.BesideFast = t[first] }},
		{"slow-neighbour", map[string]time.Duration{first: 0, second: neighbourDelay}, func(t map[string][]float64) { n.Beside, n.Slow = t[first], t[second] }},
	} {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, b.Scenario(ctx, scenario.name, nil, func(ctx context.Context, e *Environment) error {
			times, err := e.together(ctx, scenario.delays, start)
			if err == nil {
				scenario.note(times)
			}
			return err
		}))
	}
	return errors.Join(errs...)
}

// together makes machines on several infrastructures at the same time, some rounds of them, and answers for each the seconds until its
// machines of a round were ready.
func (e *Environment) together(ctx context.Context, delays map[string]time.Duration, start MakeNeighbour) (map[string][]float64, error) {
	all := map[string]Neighbour{}
	for name, delay := range delays {
		made, err := start(ctx, e, name, delay)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = made
	}
	times := map[string][]float64{}
	for round := range rounds {
		if err := e.round(ctx, round, all, times); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// round adds a time for each of the infrastructures.
func (e *Environment) round(ctx context.Context, round int, all map[string]Neighbour, times map[string][]float64) error {
	prepared := map[string]func(context.Context) error{}
	for name, neighbour := range all {
		var err error
		if prepared[name], err = neighbour.Prepare(ctx, round); err != nil {
			return err
		}
		if err := e.Rest(ctx, neighbour); err != nil {
			return err
		}
	}
	var mutex sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for name, provision := range prepared {
		group.Go(func() error {
			began := time.Now()
			if err := provision(ctx); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			ready := time.Since(began).Seconds()
			e.Progressf("round %d: the machines on the %s are ready after %.1f s", round+1, name, ready)
			mutex.Lock()
			defer mutex.Unlock()
			times[name] = append(times[name], ready)
			return nil
		})
	}
	return group.Wait()
}

// Rows are those of the table. one is what an infrastructure is called, with its article; alone and beside are upstream's figures for one
// alone and beside a late one, None where there is none.
func (n *Neighbours) Rows(one, alone, beside string) []Row {
	seconds := func(times []float64) string {
		if len(times) == 0 {
			return Unmeasured
		}
		return fmt.Sprintf("%.1f", Median(times))
	}
	// A run that failed has no time and is compared with nothing.
	effect := len(n.Alone) > 0 && Median(n.Beside) > Median(n.Alone)*noEffect+noise
	return []Row{
		{Name: fmt.Sprintf("Slow neighbour (%d machines on each), seconds until ready, medians of %d", n.Machines, rounds)},
		Line(one+" alone", seconds(n.Alone), alone, None, ""),
		Line("beside one that is as fast", seconds(n.BesideFast), None, None, ""),
		Line(fmt.Sprintf("beside one that is %.0f s late", n.Delay), seconds(n.Beside), beside, "no effect", Verdict(!effect)),
		Line("the late one itself", seconds(n.Slow), None, None, ""),
	}
}

// NoEffect words what Rows allows for.
func NoEffect() string {
	return fmt.Sprintf("\"No effect\" allows for %.0f%% and %.1f s, by which runs differ.\n", (noEffect-1)*100, noise)
}
