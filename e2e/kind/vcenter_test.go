// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := variables("VSPHERE_SERVER=172.18.0.3:8989\n2026/11/21 a line of a log x=y\nVSPHERE_NETWORK=VM Network\r\n")
	g.Expect(got).To(Equal(map[string]string{"VSPHERE_SERVER": "172.18.0.3:8989", "VSPHERE_NETWORK": "VM Network"}))
	g.Expect(complete(got)).To(BeFalse())
}

func TestVirtualIP(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for subnet, want := range map[string]string{
		"172.18.0.0/16":  "172.18.255.100",
		"192.168.0.0/20": "192.168.15.100",
		"10.1.0.0/23":    "10.1.1.100",
	} {
		got, err := virtualIP([]string{"fc00:f853:ccd:e793::/64", subnet})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(want))
	}
	for _, subnets := range [][]string{nil, {"fc00::/64"}, {"10.0.0.0/25"}, {"nonsense"}} {
		_, err := virtualIP(subnets)
		g.Expect(err).To(HaveOccurred(), "%q", subnets)
	}
}

func TestAVCenterOfBootingMachinesReachesDocker(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &Environment{Options: Options{Name: "x"}, found: findings{vcenter: "image"}}
	g.Expect(e.vcenterArguments()).To(And(ContainElement("--read-only"), Not(ContainElement(ContainSubstring("docker.sock")))))
	e.Boot = true
	g.Expect(e.vcenterArguments()).To(And(ContainElement(ContainSubstring("docker.sock")), ContainElement("--containers")))
	g.Expect(e.vcenterArguments()).To(ContainElement("io.faultline.environment=x"))
}
