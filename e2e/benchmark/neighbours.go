// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// neighbourDelay is the delay of every answer of a slow infrastructure.
	neighbourDelay = 2 * time.Second
	// neighbourMachines are created on each infrastructure in each of several rounds. The times are medians, because a single time means
	// little on a busy machine.
	neighbourMachines, rounds = 20, 3

	noEffect = 1.1 // a slow neighbour may cost 10%
	noise    = 0.5 // plus this many seconds of normal variation
)

// Infrastructure is an infrastructure with a cluster on it that a manager drives.
type Infrastructure interface {
	// Prepare creates what n machines need, and returns a function that creates the machines and waits until they are ready.
	Prepare(ctx context.Context, n int) (provision func(context.Context) error, err error)
}

// Neighbours provides scenarios that compare an infrastructure alone with one next to another.
type Neighbours struct {
	// One is the name of such an infrastructure with its article.
	One string
	// Alone holds upstream's seconds for an infrastructure alone, Upstream those next to a slow one; "" if unknown.
	Alone, Upstream string
	// Start starts an infrastructure that delays its answers once the manager is connected to it.
	Start func(ctx context.Context, e *Environment, name string, delay time.Duration) (Infrastructure, error)
}

// Scenarios returns one scenario for each comparison.
func (n Neighbours) Scenarios() []Scenario {
	var alone []float64
	scenario := func(name string, figures func(e *Environment, times [][]float64), delays ...time.Duration) Scenario {
		return Scenario{Name: name, Run: func(ctx context.Context, e *Environment) error {
			times, err := n.together(ctx, e, delays)
			if err == nil {
				figures(e, times)
			}
			return err
		}}
	}
	scenarios := []Scenario{
		scenario("alone", func(e *Environment, times [][]float64) {
			alone = times[0]
			e.Add(seconds(n.One+" alone", alone).WithUpstream(n.Alone))
		}, 0),
		scenario("fast-neighbour", func(e *Environment, times [][]float64) {
			e.Add(seconds("next to one that is as fast", times[0]))
		}, 0, 0),
		scenario("slow-neighbour", func(e *Environment, times [][]float64) {
			e.Add(effectOf(alone, times[0]).WithUpstream(n.Upstream), seconds("the slow one itself", times[1]))
		}, 0, neighbourDelay),
	}
	scenarios[0].Title = fmt.Sprintf("Slow neighbor (%d machines on each), seconds until ready, medians of %d", neighbourMachines, rounds)
	return scenarios
}

func seconds(name string, times []float64) Row { return Figure(name, "%.1f", median(times)) }

// effectOf returns the row of an infrastructure next to a slow one. It has no target if the scenario with the infrastructure alone
// failed.
func effectOf(alone, nextToSlow []float64) Row {
	name := fmt.Sprintf("next to one that answers %.0f s late", neighbourDelay.Seconds())
	return seconds(name, nextToSlow).aim("no effect", len(alone) == 0 || median(nextToSlow) <= median(alone)*noEffect+noise)
}

// NoEffect explains the tolerance of the target "no effect".
func NoEffect() string {
	return fmt.Sprintf("\"No effect\" allows for %.0f%% and %.1f s, the variation between runs.\n", (noEffect-1)*100, noise)
}

// together creates machines on an infrastructure for each delay at the same time, in several rounds. It returns the seconds for each
// infrastructure until its machines of each round were ready.
func (n Neighbours) together(ctx context.Context, e *Environment, delays []time.Duration) ([][]float64, error) {
	all, times := make([]Infrastructure, len(delays)), make([][]float64, len(delays))
	for i, delay := range delays {
		var err error
		if all[i], err = n.Start(ctx, e, neighbourName(i), delay); err != nil {
			return nil, fmt.Errorf("%s: %w", neighbourName(i), err)
		}
	}
	for range rounds {
		if err := e.round(ctx, all, times); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// neighbourName returns the name of an infrastructure's cluster.
func neighbourName(i int) string { return fmt.Sprintf("neighbor-%d", i+1) }

// round adds one time for each infrastructure.
func (e *Environment) round(ctx context.Context, all []Infrastructure, times [][]float64) error {
	provisions := make([]func(context.Context) error, len(all))
	for i, neighbour := range all {
		var err error
		if provisions[i], err = neighbour.Prepare(ctx, neighbourMachines); err != nil {
			return err
		}
	}
	if err := e.Rest(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, provision := range provisions {
		group.Go(func() error {
			began := time.Now()
			if err := provision(ctx); err != nil {
				return fmt.Errorf("%s: %w", neighbourName(i), err)
			}
			ready := time.Since(began).Seconds()
			e.Progressf("the machines of %s are ready after %.1f s", neighbourName(i), ready)
			times[i] = append(times[i], ready)
			return nil
		})
	}
	return group.Wait()
}

// median returns 0 for no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}
