// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults describes the faults of a simulated external system. Each simulator has a table of them, from which chaos tests,
// command-line switches and the tests of all faults are derived.
package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Fault is a way in which a system S breaks a rule on which its clients would like to rely. O are the options with which a system
// is created, T is the target of a chaos test.
type Fault[S, O, T any] struct {
	// Name is the name of the fault, as in `make storm MODE=`.
	Name string
	// Is describes what happens.
	Is string
	// Breaks is the rule that the fault violates.
	Breaks string
	// Takes lists the arguments of Set, and MayTake the optional ones.
	Takes, MayTake []string
	// Options are the options with which to create a system that has the fault.
	Options []O
	// Set enables or disables the fault. It is nil if the Options are sufficient: such a fault lasts as long as the system.
	Set func(ctx context.Context, s S, on bool, args ...string) error
	// Chaos configures the fault in chaos tests, which skip a fault without it.
	Chaos *Chaos[T]
}

// Chaos defines how a fault is injected at random while machines are created and deleted.
type Chaos[T any] struct {
	// Targets returns the arguments with which Set may be called now for one T. If it is nil, the fault lasts as long as the
	// test.
	Targets func(T) [][]string
	// AtOnce lists the numbers of targets from which one is drawn each time.
	AtOnce []int
	// Stays is true if a fault is not ended before the next one is injected. Brief is true if it begins and ends within the next
	// two seconds.
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

// Make enables or disables the fault in a system. It returns an error if the number of arguments is wrong.
func (f Fault[S, O, T]) Make(ctx context.Context, s S, on bool, args ...string) error {
	switch {
	case f.Set == nil:
		return fmt.Errorf("fault %s lasts as long as the simulator: start one with it", f.Name)
	case len(args) < len(f.Takes) || len(args) > len(f.Takes)+len(f.MayTake):
		return fmt.Errorf("fault %s has %d arguments; it is %s", f.Name, len(args), f.Usage())
	}
	return f.Set(ctx, s, on, args...)
}

// Named returns the fault with the name, or an error that lists all names.
func Named[S, O, T any](all []Fault[S, O, T], name string) (Fault[S, O, T], error) {
	at := slices.IndexFunc(all, func(f Fault[S, O, T]) bool { return f.Name == name })
	if at < 0 {
		names := make([]string, len(all))
		for i := range all {
			names[i] = all[i].Name
		}
		return Fault[S, O, T]{}, fmt.Errorf("unknown fault %q: must be one of %s", name, strings.Join(names, ", "))
	}
	return all[at], nil
}
