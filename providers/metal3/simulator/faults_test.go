// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"testing"

	. "github.com/onsi/gomega"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/faults"
)

func TestHostRecoversFromEveryFault(t *testing.T) {
	t.Parallel()
	for _, fault := range simulator.Faults() {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			sim := f.simulate(fault.Options...)
			f.create(simulator.Racks(1, 1))
			f.waitForState(first, bmov1alpha1.StateAvailable)
			targets := [][]string{{f.namespace, first}}
			switch {
			case fault.Set == nil:
				f.Expect(sim.SetFault(t.Context(), fault.Name, true)).To(MatchError(ContainSubstring("lasts as long as the simulator")))
				targets = nil
			case fault.Chaos != nil:
				targets = fault.Chaos.Targets(f.key(first))
			case fault.Takes[0] == "domain":
				targets = [][]string{{"rack-1"}}
			case len(fault.Takes) == 1:
				targets = [][]string{{f.namespace}}
			}
			for _, on := range []bool{true, false} {
				for _, target := range targets {
					f.Expect(sim.SetFault(t.Context(), fault.Name, on, target...)).To(Succeed(), "%v", target)
				}
			}
			f.change(first, requestImage)
			f.waitForState(first, bmov1alpha1.StateProvisioned)
		})
	}
}

func TestFaultsAreComplete(t *testing.T) {
	t.Parallel()
	faults.Described(t, simulator.Faults())
}

func TestUnknownFault(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sim := simulator.New()
	g.Expect(sim.SetFault(t.Context(), "weather", true)).To(MatchError(`unknown fault "weather": must be one of slow, failing, hung, invalid, lost-webhook, lost-domains, power-errors`))
	g.Expect(sim.SetFault(t.Context(), "lost-domains", true)).To(MatchError("fault lost-domains has 0 arguments; it is lost-domains/domain"))
	g.Expect(sim.SetFault(t.Context(), "failing", true, "slowly", "available", "default", first)).To(MatchError(ContainSubstring(`error or stuck, not "slowly"`)))
}
