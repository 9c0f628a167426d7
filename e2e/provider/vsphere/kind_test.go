// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/provider"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := variables("VSPHERE_SERVER=172.18.0.3:8989\n2026/11/21 a line of a log x=y\nVSPHERE_NETWORK=VM Network\r\n")
	g.Expect(got).To(Equal(map[string]string{"VSPHERE_SERVER": "172.18.0.3:8989", "VSPHERE_NETWORK": "VM Network"}))
	g.Expect(complete(got)).To(BeFalse())
}

func TestAVCenterOfBootingMachinesReachesDocker(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	k := provider.Kind{Name: "x", Label: "io.faultline.environment=x"}
	g.Expect(Provider{}.arguments(k)).To(And(ContainElement("--read-only"), Not(ContainElement(ContainSubstring("docker.sock")))))
	k.Boot = true
	g.Expect(Provider{}.arguments(k)).To(And(ContainElement(ContainSubstring("docker.sock")), ContainElement("--containers")))
	g.Expect(Provider{}.arguments(k)).To(ContainElement("io.faultline.environment=x"))
}
