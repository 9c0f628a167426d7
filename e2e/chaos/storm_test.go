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

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
)

// A short storm with each provider.
func TestManagerKilledAtRandomLosesNothing(t *testing.T) {
	t.Parallel()
	for _, p := range all.Providers[provider.InStorm]() {
		t.Run(p.Describe().Name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			out := &bytes.Buffer{}
			err := Run(t.Context(), Options{
				Provider: p, Mode: "obedient", Kills: 8, Machines: 6, Seed: 1, Out: out, Progress: os.Stderr,
			})
			g.Expect(err).NotTo(HaveOccurred(), "%s", out)
			g.Expect(out.String()).To(And(ContainSubstring("seed 1: 8 kills"), MatchRegexp("obedient: 8 kills, [0-9]+ while machines were on their way, [1-9][0-9]* machines made, .* 0 faults")))
			t.Log(out)
		})
	}
}

// The same with an API server that disobeys in every way.
func TestManagerOfADisobedientAPIServerLosesNothingAndAsksNotTooOften(t *testing.T) {
	t.Parallel()
	for _, p := range all.Providers[provider.InStorm]() {
		t.Run(p.Describe().Name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			out := &bytes.Buffer{}
			err := Run(t.Context(), Options{
				Provider: p, Mode: "obedient", APIServer: strings.Join(managementcluster.Disobediences(), ","),
				Kills: 4, Machines: 4, Seed: 1, Out: out, Progress: os.Stderr,
			})
			g.Expect(err).NotTo(HaveOccurred(), "%s", out)
			g.Expect(out.String()).To(MatchRegexp("obedient: at most [1-9][0-9]* requests a minute for one object"))
			t.Log(out)
		})
	}
}

// A short soak. Harvester's takes more than ten minutes, for which informers that nobody uses go on.
func TestClustersThatComeAndGoLeaveNothingInTheManager(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"vsphere", "metal3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p, err := all.Named[provider.InStorm](name)
			g.Expect(err).NotTo(HaveOccurred())
			out := &bytes.Buffer{}
			g.Expect(Run(t.Context(), Options{Provider: p, Mode: SoakMode, Clusters: 4, Out: out, Progress: os.Stderr})).To(Succeed(), "%s", out)
			g.Expect(out.String()).To(MatchRegexp(`soak: after 4 clusters, [0-9]+ s: [1-9][0-9]* goroutines, [0-9.]+ MiB of heap, [1-9][0-9]* watches`))
			t.Log(out)
		})
	}
}
