// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package all

import (
	"flag"
	"io"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

func TestEveryProviderIsFoundByItsName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, p := range Providers() {
		named, err := Named(p.Describe().Name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(named.Describe().Name).To(Equal(p.Describe().Name))
	}
	_, err := Named("abacus")
	g.Expect(err).To(MatchError(ContainSubstring(`"abacus": it is one of metal3, vsphere`)))
}

// The demo, specs and templates find a provider's files by its name.
func TestEveryProviderHasItsFiles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, name := range Names() {
		for _, path := range []string{
			"../../../providers/" + name + "/go.mod", "../../../templates/" + name + "/cluster-template.yaml", "../" + name + "/specs.yaml",
		} {
			g.Expect(filepath.FromSlash(path)).To(BeARegularFile())
		}
	}
}

func TestDescriptionsAreComplete(t *testing.T) {
	t.Parallel()
	for _, p := range Providers() {
		g := NewWithT(t)
		about := p.Describe()
		for _, text := range []string{about.System, about.Namespace, about.Certificate, about.ClusterKind, p.Simulator().Program, p.Simulator().Container} {
			g.Expect(text).NotTo(BeEmpty(), about.Name)
		}
		g.Expect(about.Domains).To(HaveLen(3), about.Name)
		g.Expect(slices.IsSorted(about.Domains)).To(BeTrue(), about.Name)
		g.Expect(about.Kinds).NotTo(BeEmpty(), about.Name)
		g.Expect(p.Modes()[0].Name).To(Equal("obedient"), about.Name)
		g.Expect(p.Benchmark().Machines).NotTo(BeEmpty(), about.Name)
	}
}

func TestTheFlagRefusesWhatThereIsNot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	chosen := Flag(flags, "what it is about")
	g.Expect((*chosen).Describe().Name).To(Equal("vsphere"))
	g.Expect(flags.Parse([]string{"--provider=metal3"})).To(Succeed())
	g.Expect((*chosen).Describe().Name).To(Equal("metal3"))
	g.Expect(flags.Parse([]string{"--provider=abacus"})).To(MatchError(ContainSubstring("it is one of metal3, vsphere")))
}
