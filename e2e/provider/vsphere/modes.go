// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"math/rand/v2"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// mode is a vCenter with one fault of the simulator's, or without.
type mode struct {
	provider.Mode
	fault simulator.Fault
}

// stormModes are the obedient one and the faults that the simulator has for storms.
func stormModes() []mode {
	modes := []mode{{Mode: provider.Mode{Name: "obedient", Is: "vCenter does what it is told, at once"}}}
	for _, fault := range simulator.Faults() {
		if fault.Storm != nil {
			modes = append(modes, mode{Mode: provider.Mode{Name: fault.Name, Is: fault.Is}, fault: fault})
		}
	}
	return modes
}

// disturbance makes the fault of the mode.
func (m *mode) disturbance(vcenter *simulator.Server) *provider.Disturbance {
	d := &provider.Disturbance{}
	if m.fault.Set != nil {
		d.Set = func(on bool, target []string) error { return m.fault.Set(vcenter, on, target...) }
	}
	if storm := m.fault.Storm; storm != nil {
		d.AtOnce, d.Stays, d.Brief = storm.AtOnce, storm.Stays, storm.Brief
		if storm.Targets != nil {
			d.Targets = func() [][]string { return storm.Targets(vcenter) }
		}
	}
	return d
}

func (v *target) Disturb(_ context.Context, random *rand.Rand) error {
	return v.disturbance.Next(random)
}

func (v *target) Calm(context.Context) error { return v.disturbance.End() }
