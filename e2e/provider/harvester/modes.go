// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"math/rand/v2"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// mode is a Harvester with one fault of the simulator's, or without.
type mode struct {
	provider.Mode
	fault simulator.Fault
}

// stormModes are the obedient one and the faults that the simulator has for storms.
func stormModes() []mode {
	modes := []mode{{Mode: provider.Mode{Name: "obedient", Is: "Harvester does what it is told, at once"}}}
	for _, fault := range simulator.Faults() {
		if fault.Storm != nil {
			modes = append(modes, mode{Mode: provider.Mode{Name: fault.Name, Is: fault.Is}, fault: fault})
		}
	}
	return modes
}

// disturbance makes the fault of the mode.
func (m *mode) disturbance(ctx context.Context, harvester *simulator.Simulator) *provider.Disturbance {
	d := &provider.Disturbance{}
	if m.fault.Set != nil {
		d.Set = func(on bool, target []string) error { return m.fault.Set(ctx, harvester, on, target...) }
	}
	if storm := m.fault.Storm; storm != nil && storm.Targets != nil {
		d.AtOnce = storm.AtOnce
		d.Targets = func() [][]string {
			var all [][]string
			for _, host := range layout().Hosts {
				all = append(all, storm.Targets(host)...)
			}
			return all
		}
	}
	return d
}

func (h *target) Disturb(_ context.Context, random *rand.Rand) error {
	return h.disturbance.Next(random)
}

func (h *target) Calm(context.Context) error { return h.disturbance.End() }
