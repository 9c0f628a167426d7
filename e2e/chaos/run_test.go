// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package chaos

import (
	"bytes"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
)

func TestRandomKillsLoseNothing(t *testing.T) {
	t.Parallel()
	shortRun(t, Options{Kills: 8, Machines: 6}, And(ContainSubstring("seed 1: 8 kills"),
		MatchRegexp("obedient: 8 kills, [0-9]+ while machines were being created or deleted, [1-9][0-9]* machines created, .* 0 faults")))
}

func TestAPIServerFaultsLoseNothingAndLimitRequests(t *testing.T) {
	t.Parallel()
	shortRun(t, Options{Kills: 4, Machines: 4, APIServer: strings.Join(managementcluster.APIServerFaultNames(), ",")},
		MatchRegexp("obedient: at most [1-9][0-9]* requests a minute for one object"))
}

// shortRun runs a short chaos test with each provider, and matches its output.
func shortRun(t *testing.T, options Options, prints types.GomegaMatcher) {
	t.Helper()
	for _, p := range all.Providers[provider.ChaosProvider]() {
		t.Run(p.Describe().Name, func(t *testing.T) {
			t.Parallel()
			g, out, o := NewWithT(t), &bytes.Buffer{}, options
			o.Provider, o.Mode, o.Seed, o.Out, o.Progress = p, "obedient", 1, out, os.Stderr
			g.Expect(Run(t.Context(), o)).To(Succeed(), "%s", out)
			g.Expect(out.String()).To(prints)
			t.Log(out)
		})
	}
}

// A short soak test.
func TestSoakLeavesNothingInManager(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"vsphere", "metal3", "harvester"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p, err := all.Named[provider.ChaosProvider](name)
			g.Expect(err).NotTo(HaveOccurred())
			out := &bytes.Buffer{}
			g.Expect(Run(t.Context(), Options{Provider: p, Mode: SoakMode, Clusters: 4, Out: out, Progress: os.Stderr})).To(Succeed(), "%s", out)
			g.Expect(out.String()).To(MatchRegexp(`soak: after 4 clusters, [0-9]+ s: [1-9][0-9]* goroutines, [0-9.]+ MiB of heap, [1-9][0-9]* watches`))
			t.Log(out)
		})
	}
}
