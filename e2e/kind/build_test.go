// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package kind

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/offline/programs"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/harvester"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

func TestPublishedImagesBuildOwnProgramsOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &Environment{Options: Options{Providers: []provider.KindProvider{vsphere.Provider{}}, Boot: true}, found: findings{published: true}}
	g.Expect(e.programs()).To(ConsistOf(
		binaries.Kubectl, binaries.Clusterctl, "vcsim", binaries.Provider("vsphere"), binaries.MachineInit,
	))
	g.Expect(e.buildNode(t.Context(), nil)).To(Succeed())
	g.Expect(e.found.node).To(BeEmpty(), "kind has one")
	certManager, err := e.certManager(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(certManager).To(BeNil(), "clusterctl has one")
}

func TestWithoutPublishedImagesEverythingIsBuilt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &Environment{Options: Options{Providers: []provider.KindProvider{vsphere.Provider{}}}}
	g.Expect(e.programs()).To(ContainElements(programs.Node()))
	g.Expect(e.programs()).To(ContainElements(binaries.CAPICore, programs.CertManager("webhook")))
	g.Expect(e.programs()).NotTo(ContainElement(programs.KubeVIP), "no machine boots")
	e.Boot = true
	g.Expect(e.programs()).To(ContainElement(programs.KubeVIP))
}

func TestUpstreamProviderIsBuiltForUpgrade(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, err := New(Options{Name: "other", Providers: []provider.KindProvider{vsphere.Provider{}}, Upstream: true})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.programs()).To(ContainElement(binaries.UpstreamVSphere))
	_, err = New(Options{Name: "other", Providers: []provider.KindProvider{harvester.Provider{}}, Upstream: true})
	g.Expect(err).To(MatchError(ContainSubstring("none of the providers replaces")))
}

func TestChartProgramsAreBuiltForBootingMachines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &Environment{Options: Options{Providers: []provider.KindProvider{harvester.Provider{}}}, found: findings{published: true}}
	g.Expect(e.programs()).NotTo(ContainElement(binaries.CloudProvider))
	e.Boot = true
	g.Expect(e.programs()).To(ContainElements(binaries.CloudProvider, binaries.LoadBalancer))
}
