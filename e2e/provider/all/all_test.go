// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package all

import (
	"flag"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
)

func TestNamed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, p := range Providers[provider.Provider]() {
		named, err := Named[provider.Provider](p.Describe().Name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(named.Describe().Name).To(Equal(p.Describe().Name))
	}
	_, err := Named[provider.Provider]("abacus")
	g.Expect(err).To(MatchError(HaveSuffix(`"abacus" has no simulated infrastructure: must be one of ` + strings.Join(Names[provider.Provider](), ", "))))
}

// The demo, specs and templates find a provider's files by its name.
func TestProviderFilesExist(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, name := range Names[provider.Provider]() {
		g.Expect(filepath.FromSlash("../../../providers/" + name + "/go.mod")).To(BeARegularFile())
	}
	for _, p := range Providers[provider.DemoProvider]() {
		about := p.Describe()
		g.Expect(filepath.FromSlash("../../../templates/" + about.Name + "/cluster-template.yaml")).To(BeARegularFile())
		g.Expect(filepath.FromSlash("../../../templates/" + about.Name + "/" + about.Template(""))).To(BeARegularFile())
	}
	for _, name := range Names[provider.KindProvider]() {
		g.Expect(filepath.FromSlash("../" + name + "/specs.yaml")).To(BeARegularFile())
	}
}

func TestDescriptionsAreComplete(t *testing.T) {
	t.Parallel()
	for _, p := range Providers[provider.Provider]() {
		g := NewWithT(t)
		about := p.Describe()
		for _, text := range []string{about.System, about.Namespace, about.Certificate, about.ClusterKind} {
			g.Expect(text).NotTo(BeEmpty(), about.Name)
		}
		g.Expect(about.Domains).To(HaveLen(3), about.Name)
		g.Expect(slices.IsSorted(about.Domains)).To(BeTrue(), about.Name)
		g.Expect(about.Kinds).NotTo(BeEmpty(), about.Name)
	}
	for _, p := range Providers[provider.KindProvider]() {
		g := NewWithT(t)
		for _, text := range []string{p.Simulator().Program, p.Simulator().Container} {
			g.Expect(text).NotTo(BeEmpty(), p.Describe().Name)
		}
	}
	for _, p := range Providers[benchmark.Provider]() {
		NewWithT(t).Expect(p.Benchmark().Machines).NotTo(BeEmpty(), p.Describe().Name)
	}
}

func TestFlagRejectsUnknownProvider(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	chosen := Flag[provider.DemoProvider](flags, "Infrastructure provider")
	g.Expect((*chosen).Describe().Name).To(Equal("vsphere"))
	g.Expect(flags.Parse([]string{"--provider=metal3"})).To(Succeed())
	g.Expect((*chosen).Describe().Name).To(Equal("metal3"))
	g.Expect(flags.Parse([]string{"--provider=abacus"})).To(MatchError(ContainSubstring("must be one of " + strings.Join(Names[provider.DemoProvider](), ", "))))
}
