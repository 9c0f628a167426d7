// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvester

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider"
)

func TestSimulatorImageHasPrograms(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	simulator := Provider{}.Simulator()
	paths := binaries.Paths{}
	for _, name := range simulator.Programs {
		paths[name] = "/built/" + name
	}
	for _, file := range simulator.Files(paths) {
		g.Expect(file.From).To(HavePrefix("/built/"))
		g.Expect(file.Path).To(HavePrefix(provider.SimulatorPrograms + "/"))
		g.Expect(file.Mode.Perm()).To(BeEquivalentTo(0o755))
	}
	g.Expect(simulator.Files(paths)).To(HaveLen(3))
	k := provider.Kind{Name: "x", Network: "kind", Label: "io.faultline.environment=x"}
	g.Expect(Provider{}.arguments(k)).To(ContainElements(
		"x-harvester", "io.faultline.environment=x", binaries.AssetsVariable+"="+provider.SimulatorPrograms, "zone-a,zone-b,zone-c",
	))
}

func TestSimulatorOfBootingGuestsUsesDockerAndLoadBalancers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	k := provider.Kind{Name: "x", Network: "kind", Label: "io.faultline.environment=x"}
	g.Expect(Provider{}.arguments(k)).To(And(ContainElement("--read-only"), Not(ContainElement(ContainSubstring("docker.sock"))), Not(ContainElement("--announce"))))
	k.Boot, k.Machine = true, "faultline/machine:v1"
	g.Expect(Provider{}.arguments(k)).To(ContainElements(ContainSubstring("docker.sock"), "NET_ADMIN", "--announce", "x-harvester", "faultline/machine:v1"))
	g.Expect(Provider{}.arguments(k)).NotTo(ContainElement("--read-only"))
	g.Expect("x-harvester-vm-default-demo-1").To(MatchRegexp(Provider{}.MachineContainer("demo-1")))
}
