// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// mode is a behavior of some vCenters: of one with one fault of the simulator, or of several that are down at times.
type mode struct {
	provider.FaultMode[*simulator.Server, simulator.Option, *simulator.Server]

	vcenters int
}

// chaosModes returns the obedient mode, the faults of the simulator whose Chaos is set, and the loss of one of several vCenters.
func chaosModes() []mode {
	var modes []mode
	for _, of := range provider.FaultModes("vCenter obeys immediately", simulator.Faults()) {
		modes = append(modes, mode{FaultMode: of, vcenters: 1})
	}
	lost := mode{vcenters: 3}
	lost.Mode = provider.Mode{Name: "lost-vcenter", Is: "the zones are on three vCenters, and at times one of them resets all connections"}
	return append(modes, lost)
}

// disturb returns the Disturbance of the mode.
func (m *mode) disturb(ctx context.Context, vcenters []*simulator.Server) *provider.Disturbance {
	if m.vcenters > 1 {
		return lostVCenter(vcenters)
	}
	return provider.DisturbanceBy(ctx, &m.Fault, vcenters[0], func() []*simulator.Server { return vcenters })
}

// lostVCenter makes one of the vCenters unreachable at a time.
func lostVCenter(vcenters []*simulator.Server) *provider.Disturbance {
	byHost := map[string]*simulator.Server{}
	var hosts [][]string
	for _, vcenter := range vcenters {
		byHost[vcenter.Host()] = vcenter
		hosts = append(hosts, []string{vcenter.Host()})
	}
	return &provider.Disturbance{
		Simultaneous: []int{0, 1, 1},
		Targets:      func() [][]string { return slices.Clone(hosts) },
		Set:          func(on bool, host []string) error { byHost[host[0]].SetDown(on); return nil },
	}
}

func (v *target) Disturb(_ context.Context, random *rand.Rand) error {
	return v.disturbance.Next(random)
}

func (v *target) EndDisturbances(context.Context) error { return v.disturbance.End() }
