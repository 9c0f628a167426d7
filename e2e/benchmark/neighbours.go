// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// neighbourDelay is how late every answer of a slow infrastructure is.
	neighbourDelay = 2 * time.Second
	// neighbourMachines are made on each infrastructure, in so many rounds. The times are the medians: on a machine that does something else
	// too, a single one says little.
	neighbourMachines, rounds = 20, 3

	noEffect = 1.1 // a slow neighbour may cost a tenth
	noise    = 0.5 // and so many seconds, by which runs differ anyway

	first, second = "first", "second"
)

// Infrastructure is what a manager drives, with a cluster on it.
type Infrastructure interface {
	Counted
	// Prepare makes what n machines need, and returns what makes these and waits until they are ready.
	Prepare(ctx context.Context, n int) (provision func(context.Context) error, err error)
}

// Neighbours are scenarios that compare an infrastructure alone and beside another.
type Neighbours struct {
	// One is what an infrastructure is called, with its article.
	One string
	// Alone and Beside are upstream's seconds for one alone and beside a late one, "" where there are none.
	Alone, Beside string
	// Start starts one that answers late by a delay, once the manager is connected to it.
	Start func(ctx context.Context, e *Environment, name string, delay time.Duration) (Infrastructure, error)
}

// Scenarios has one for each comparison.
func (n Neighbours) Scenarios() []Scenario {
	var alone []float64
	scenario := func(name string, delays map[string]time.Duration, figures func(*Environment, map[string][]float64)) Scenario {
		return Scenario{Name: name, Run: func(ctx context.Context, e *Environment) error {
			times, err := n.together(ctx, e, delays)
			if err == nil {
				figures(e, times)
			}
			return err
		}}
	}
	scenarios := []Scenario{
		scenario("alone", map[string]time.Duration{first: 0}, func(e *Environment, times map[string][]float64) {
			alone = times[first]
			e.Add(seconds(n.One+" alone", alone).Beside(n.Alone))
		}),
		scenario("fast-neighbour", map[string]time.Duration{first: 0, second: 0}, func(e *Environment, times map[string][]float64) {
			e.Add(seconds("beside one that is as fast", times[first]))
		}),
		scenario("slow-neighbour", map[string]time.Duration{first: 0, second: neighbourDelay}, func(e *Environment, times map[string][]float64) {
			e.Add(besideLate(alone, times[first]).Beside(n.Beside), seconds("the late one itself", times[second]))
		}),
	}
	scenarios[0].Title = fmt.Sprintf("Slow neighbour (%d machines on each), seconds until ready, medians of %d", neighbourMachines, rounds)
	return scenarios
}

func seconds(name string, times []float64) Row { return Figure(name, "%.1f", median(times)) }

// besideLate is compared with nothing where the scenario failed in which the infrastructure was alone.
func besideLate(alone, beside []float64) Row {
	name := fmt.Sprintf("beside one that is %.0f s late", neighbourDelay.Seconds())
	return seconds(name, beside).aim("no effect", len(alone) == 0 || median(beside) <= median(alone)*noEffect+noise)
}

// NoEffect words what is allowed for.
func NoEffect() string {
	return fmt.Sprintf("\"No effect\" allows for %.0f%% and %.1f s, by which runs differ.\n", (noEffect-1)*100, noise)
}

// together makes machines on several infrastructures at the same time, some rounds of them, and answers for each the seconds until its
// machines of a round were ready.
func (n Neighbours) together(ctx context.Context, e *Environment, delays map[string]time.Duration) (map[string][]float64, error) {
	all := map[string]Infrastructure{}
	for name, delay := range delays {
		made, err := n.Start(ctx, e, name, delay)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = made
	}
	times := map[string][]float64{}
	for range rounds {
		if err := e.round(ctx, all, times); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// round adds a time for each of the infrastructures.
func (e *Environment) round(ctx context.Context, all map[string]Infrastructure, times map[string][]float64) error {
	prepared := map[string]func(context.Context) error{}
	for name, neighbour := range all {
		var err error
		prepared[name], err = neighbour.Prepare(ctx, neighbourMachines)
		if err := errors.Join(err, e.Rest(ctx, neighbour)); err != nil {
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
			e.Progressf("the machines on the %s are ready after %.1f s", name, ready)
			mutex.Lock()
			defer mutex.Unlock()
			times[name] = append(times[name], ready)
			return nil
		})
	}
	return group.Wait()
}

// median returns 0 if there is none.
func median(values []float64) float64 { return Percentile(slices.Sorted(slices.Values(values)), 50) }

// Percentile of sorted values.
func Percentile(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
