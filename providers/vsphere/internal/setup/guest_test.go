// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// consecutiveAddresses returns n consecutive addresses.
func consecutiveAddresses(first string, n int) []netip.Prefix {
	addresses := make([]netip.Prefix, 0, n)
	for address := netip.MustParseAddr(first); len(addresses) < n; address = address.Next() {
		addresses = append(addresses, netip.PrefixFrom(address, address.BitLen()))
	}
	return addresses
}

// A Kubernetes node has a bridge for its pods, and in IPVS mode an interface with the addresses of all services.
func TestKubernetesInterfacesAreIgnored(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	own := machine.Status.Addresses
	w.Expect(own).To(HaveLen(2), "its card's and its name")
	vm := w.vsphereVM("node")

	w.Expect(w.vc.SetGuestInterface("node", "cni0", netip.MustParsePrefix("10.244.0.1/24"))).To(Succeed())
	w.Expect(w.vc.SetGuestInterface("node", "kube-ipvs0", consecutiveAddresses("10.96.0.1", 300)...)).To(Succeed())
	w.Expect(w.vc.SetGuestInterface("node", "kube-ipvs0", consecutiveAddresses("10.96.0.1", 301)...)).To(Succeed())
	w.Expect(w.vms()["node"].IPs).To(ContainElement("10.96.1.44"), "the guest does report them")
	// A later change is visible, so the earlier ones were processed.
	for _, host := range []string{"zone-a-host-1", "zone-a-host-2"} {
		w.Expect(w.vc.MoveVMToHost("node", host)).To(Succeed())
		w.Eventually(func() string { return w.vsphereVM("node").Status.Host }).Should(Equal(host))
	}
	w.get(machine)
	w.Expect(machine.Status.Addresses).To(Equal(own))
	w.Expect(w.vsphereVM("node").Status.Network).To(Equal(vm.Status.Network))

	before := w.vsphereVM("node").ResourceVersion
	w.Expect(w.vc.SetGuestInterface("node", "kube-ipvs0", consecutiveAddresses("10.96.0.1", 302)...)).To(Succeed())
	w.Consistently(func() string { return w.vsphereVM("node").ResourceVersion }, quietPeriod).Should(Equal(before), "a new service is not written")
}

func TestGuestBridgeAddressIsIgnored(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", func(m *infrav1.VSphereMachine) {
		m.Spec.Network.Devices[0].DHCP4, m.Spec.Network.Devices[0].SkipIPAllocation = nil, ptr.To(true)
	})
	w.waitForCondition(w.vsphereVM("node"), infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineWaitingForIPAllocationReason)
	w.Expect(w.vc.SetGuestInterface("node", "cni0", netip.MustParsePrefix("10.244.0.1/24"))).To(Succeed())
	w.Consistently(func() *bool { w.get(machine); return machine.Status.Initialization.Provisioned }, quietPeriod).Should(BeNil())
}

// The API limits the number of addresses, and rejects the whole status if there are more.
func TestTooManyAddressesAreTruncated(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", func(m *infrav1.VSphereMachine) {
		for _, address := range consecutiveAddresses("192.168.7.1", 100) {
			m.Spec.Network.Devices[0].IPAddrs = append(m.Spec.Network.Devices[0].IPAddrs, address.String())
		}
		second := *m.Spec.Network.Devices[0].DeepCopy()
		second.IPAddrs = nil
		for _, address := range consecutiveAddresses("fd07::1", 100) {
			second.IPAddrs = append(second.IPAddrs, address.String())
		}
		m.Spec.Network.Devices = append(m.Spec.Network.Devices, second)
	})
	w.waitForProvisioned(machine)
	w.Expect(machine.Status.Addresses).To(HaveLen(128))
	w.Expect(machine.Status.Addresses[127].Type).To(Equal(clusterv1.MachineInternalDNS))
	w.Expect(w.vsphereVM("node").Status.Addresses).To(HaveLen(128))
}
