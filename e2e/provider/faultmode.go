// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"

	"github.com/faultline-io/faultline/shared/faults"
)

// FaultMode is a mode in which a simulated outside system has at most one fault.
type FaultMode[S, O, T any] struct {
	Mode
	Fault faults.Fault[S, O, T]
}

// FaultModes returns the obedient mode, with its description, and one mode for each fault whose Chaos is set.
func FaultModes[S, O, T any](obedient string, all []faults.Fault[S, O, T]) []FaultMode[S, O, T] {
	modes := []FaultMode[S, O, T]{{Mode: Mode{Name: "obedient", Is: obedient}}}
	for _, fault := range all {
		if fault.Chaos != nil {
			modes = append(modes, FaultMode[S, O, T]{Mode: Mode{Name: fault.Name, Is: fault.Is}, Fault: fault})
		}
	}
	return modes
}

// DisturbanceBy returns a Disturbance that injects a fault into a system, at the targets that there returns.
func DisturbanceBy[S, O, T any](ctx context.Context, fault *faults.Fault[S, O, T], system S, there func() []T) *Disturbance {
	d := &Disturbance{}
	if fault.Set != nil {
		d.Set = func(on bool, target []string) error { return fault.Set(ctx, system, on, target...) }
	}
	storm := fault.Chaos
	if storm == nil {
		return d
	}
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
