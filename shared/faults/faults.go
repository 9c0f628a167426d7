// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults describes the ways in which a simulated outside system disobeys. Each simulator has a table of them, from which storms,
// the switches of programs and the tests that concern all faults are made.
package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Fault is a way in which a system S breaks a rule that its clients would like to rely on. O are the options that a system is made with,
// T is what a storm hits.
type Fault[S, O, T any] struct {
	// Name is what the fault is called, such as in make storm MODE=.
	Name string
	// Is says what happens.
	Is string
	// Breaks is the rule that does not hold then.
	Breaks string
	// Takes names the arguments of Set, and MayTake those that can be left out.
	Takes, MayTake []string
	// Options are what a system with the fault is made with.
	Options []O
	// Set makes the fault, or ends it. It is nil where the Options are all there is: such a fault lasts as long as the system.
	Set func(ctx context.Context, s S, on bool, args ...string) error
	// Storm says how a storm makes the fault; storms leave out a fault without it.
	Storm *Storm[T]
}

// Storm is how a fault is made at random while machines come and go.
type Storm[T any] struct {
	// Targets returns the arguments that Set may be called with now for one T. Without it, the fault lasts as long as the storm.
	Targets func(T) [][]string
	// AtOnce has the numbers of targets to draw from each time.
	AtOnce []int
	// Stays says that a fault is not ended before the next is made, Brief that it begins and ends in the next two seconds.
	Stays, Brief bool
}

// Usage returns the name and the names of the arguments: lost-hosts/cluster/[host].
func (f Fault[S, O, T]) Usage() string {
	words := append([]string{f.Name}, f.Takes...)
	for _, word := range f.MayTake {
		words = append(words, "["+word+"]")
	}
	return strings.Join(words, "/")
}

// Make makes the fault in a system, or ends it, with as many arguments as it takes.
func (f Fault[S, O, T]) Make(ctx context.Context, s S, on bool, args ...string) error {
	switch {
	case f.Set == nil:
		return fmt.Errorf("fault %s lasts as long as the simulator: start one with it", f.Name)
	case len(args) < len(f.Takes) || len(args) > len(f.Takes)+len(f.MayTake):
		return fmt.Errorf("fault %s has %d arguments; it is %s", f.Name, len(args), f.Usage())
	}
	return f.Set(ctx, s, on, args...)
}

// Named returns the fault of that name, or an error that lists those there are.
func Named[S, O, T any](all []Fault[S, O, T], name string) (Fault[S, O, T], error) {
	at := slices.IndexFunc(all, func(f Fault[S, O, T]) bool { return f.Name == name })
	if at < 0 {
		names := make([]string, len(all))
		for i := range all {
			names[i] = all[i].Name
		}
		return Fault[S, O, T]{}, fmt.Errorf("there is no fault %q; there are %s", name, strings.Join(names, ", "))
	}
	return all[at], nil
}
