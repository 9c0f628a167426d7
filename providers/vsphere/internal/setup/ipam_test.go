// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"encoding/base64"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// The tests of this file play the IPAM provider: it responds late, incorrectly or not at all. incluster_test.go uses a real
// one.

func poolRef(name string) infrav1.IPPoolReference {
	return infrav1.IPPoolReference{APIGroup: "ipam.example.com", Kind: "Pool", Name: name}
}

// fromPools gives a card of a machine addresses from these pools only.
func fromPools(names ...string) func(*infrav1.VSphereMachine) {
	return func(m *infrav1.VSphereMachine) {
		card := &m.Spec.Network.Devices[0]
		card.DHCP4 = nil
		for _, name := range names {
			card.AddressesFromPools = append(card.AddressesFromPools, poolRef(name))
		}
	}
}

// addressClaim waits for a claim.
func (w *fixture) addressClaim(name string) *ipamclusterv1.IPAddressClaim {
	w.t.Helper()
	claim := &ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta(name)}
	w.Eventually(func() error { return w.client.Get(w.t.Context(), keyOf(claim), claim) }).Should(Succeed())
	return claim
}

// addressClaims returns the names of the existing claims.
func (w *fixture) addressClaims() []string {
	claims := &ipamclusterv1.IPAddressClaimList{}
	w.Expect(w.client.List(w.t.Context(), claims, client.InNamespace(w.name))).To(Succeed())
	var names []string
	for _, claim := range claims.Items {
		names = append(names, claim.Name)
	}
	return names
}

// address returns the address that a provider creates for a claim.
func (w *fixture) address(claim, address string, prefix int32, gateway string) *ipamclusterv1.IPAddress {
	return &ipamclusterv1.IPAddress{ObjectMeta: w.meta(claim), Spec: ipamclusterv1.IPAddressSpec{
		ClaimRef: ipamclusterv1.IPAddressClaimReference{Name: claim}, PoolRef: w.addressClaim(claim).Spec.PoolRef,
		Address: address, Prefix: ptr.To(prefix), Gateway: gateway,
	}}
}

// fulfillClaim fulfils a claim as a provider does: first it creates the address, then it updates the claim.
func (w *fixture) fulfillClaim(address *ipamclusterv1.IPAddress) {
	w.t.Helper()
	w.create(address)
	w.setClaimStatus(address.Name, func(status *ipamclusterv1.IPAddressClaimStatus) {
		status.Conditions, status.AddressRef.Name = nil, address.Name
	})
}

func (w *fixture) setClaimStatus(claim string, change func(*ipamclusterv1.IPAddressClaimStatus)) {
	w.t.Helper()
	updateStatus(w, w.addressClaim(claim), func(c *ipamclusterv1.IPAddressClaim) { change(&c.Status) })
}

// card returns the configuration of the guest's first network card.
func (w *fixture) card(vm simulator.VM) (card struct {
	Addresses          []string
	Gateway4, Gateway6 string
},
) {
	w.t.Helper()
	data, err := base64.StdEncoding.DecodeString(vm.ExtraConfig["guestinfo.metadata"])
	w.Expect(err).NotTo(HaveOccurred())
	meta := struct {
		Network struct{ Ethernets map[string]any }
	}{}
	w.Expect(yaml.Unmarshal(data, &meta)).To(Succeed())
	first, err := yaml.Marshal(meta.Network.Ethernets["id0"])
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(yaml.Unmarshal(first, &card)).To(Succeed())
	return card
}

// waitForAddressMessage waits until the conditions of the machine and its virtual machine report why addresses are missing.
func (w *fixture) waitForAddressMessage(machine *infrav1.VSphereMachine, text string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), keyOf(machine), machine)).To(Succeed())
		g.Expect(machine.Status.Conditions).To(ContainElement(And(
			HaveField("Type", infrav1.VSphereMachineVirtualMachineProvisionedCondition),
			HaveField("Reason", infrav1.VSphereVMVirtualMachineWaitingForIPAddressReason), HaveField("Message", ContainSubstring(text)),
		)))
	}).Should(Succeed())
	w.Expect(w.waitForCondition(w.vsphereVM(machine.Name), infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineWaitingForIPAddressReason)).
		To(ContainSubstring(text))
}

func (w *fixture) addressesOf(vm, reason string) (message string) {
	w.t.Helper()
	return w.waitForCondition(w.vsphereVM(vm), infrav1.VSphereVMIPAddressClaimsFulfilledCondition, reason)
}

func TestMachineGetsPoolAddressesBeforeClone(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", fromPools("v4", "v6"), func(m *infrav1.VSphereMachine) {
		m.Spec.Network.Devices = append(m.Spec.Network.Devices, *m.Spec.Network.Devices[0].DeepCopy())
		m.Spec.Network.Devices[0].IPAddrs = []string{"10.0.0.4/24"}
		m.Spec.Network.Devices[1].AddressesFromPools = []infrav1.IPPoolReference{poolRef("storage")}
	})
	for claim, pool := range map[string]string{"node-0-0": "v4", "node-0-1": "v6", "node-1-0": "storage"} {
		made := w.addressClaim(claim)
		w.Expect(made.Spec).To(Equal(ipamclusterv1.IPAddressClaimSpec{
			ClusterName: "one", PoolRef: ipamclusterv1.IPPoolReference{APIGroup: "ipam.example.com", Kind: "Pool", Name: pool},
		}))
		w.Expect(made.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "one"))
		w.Expect(made.Labels).To(HaveKeyWithValue(clusterv1.WatchLabel, w.name))
		w.Expect(made.Finalizers).To(ConsistOf("vspherevm.infrastructure.cluster.x-k8s.io/ip-claim-protection"))
		w.Expect(metav1.IsControlledBy(made, w.vsphereVM("node"))).To(BeTrue())
	}
	w.waitForAddressMessage(machine, "Waiting for Pool v4 to assign an address to IPAddressClaim node-0-0; Waiting for Pool v6")
	w.addressesOf("node", infrav1.VSphereVMIPAddressClaimsWaitingForIPAddressReason)
	w.fulfillClaim(w.address("node-0-0", "10.0.0.5", 24, "10.0.0.1"))
	w.fulfillClaim(w.address("node-1-0", "192.168.0.5", 16, ""))
	w.waitForAddressMessage(machine, "Waiting for Pool v6 to assign an address to IPAddressClaim node-0-1")
	w.Expect(w.vms()).To(BeEmpty())

	w.fulfillClaim(w.address("node-0-1", "2001:db8::5", 64, "fe80::1"))
	w.waitForProvisioned(machine)
	vm := w.vms()["node"]
	w.Expect(vm.IPs).To(ConsistOf("10.0.0.4", "10.0.0.5", "2001:db8::5", "192.168.0.5"))
	card := w.card(vm)
	w.Expect(card.Addresses).To(Equal([]string{"10.0.0.4/24", "10.0.0.5/24", "2001:db8::5/64"}))
	w.Expect([]string{card.Gateway4, card.Gateway6}).To(Equal([]string{"10.0.0.1", "fe80::1"}))
	w.addressesOf("node", infrav1.VSphereVMIPAddressClaimsFulfilledReason)

	w.remove(machine)
	w.Eventually(w.addressClaims).Should(BeEmpty())
}

func TestPoolOfFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	zone := w.zone("a", infrav1.Topology{
		Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a",
		NetworkConfigurations: []infrav1.NetworkConfiguration{{NetworkName: "network-a", AddressesFromPools: []infrav1.IPPoolReference{poolRef("of-zone-a")}}},
	}, nil)
	w.waitForPublished(w.cluster("c"), zone.Name)
	machine := w.machine("c", "node", zone.Name, fromPools("of-machine"))
	w.Expect(w.addressClaim("node-0-0").Spec.PoolRef.Name).To(Equal("of-zone-a"))
	w.fulfillClaim(w.address("node-0-0", "10.0.0.5", 24, "10.0.0.1"))
	w.waitForProvisioned(machine)
	w.Expect(w.vms()["node"].Networks).To(Equal([]string{"network-a"}))
	w.Expect(w.card(w.vms()["node"]).Addresses).To(Equal([]string{"10.0.0.5/24"}))
}

func TestInvalidPoolAddressIsNotUsed(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	for name, tc := range map[string]struct {
		answer func(*ipamclusterv1.IPAddress)
		says   string
	}{
		"twice":   {func(a *ipamclusterv1.IPAddress) { a.Spec.Address = "10.0.0.5" }, "IPAddressClaim twice-0-0 has the same address"},
		"prefix":  {func(a *ipamclusterv1.IPAddress) { a.Spec.Prefix = ptr.To[int32](0) }, "without the prefix length of its subnet"},
		"outside": {func(a *ipamclusterv1.IPAddress) { a.Spec.Address = "10.1.0.6" }, "which is outside its subnet 10.1.0.0/24"},
		"gateway": {func(a *ipamclusterv1.IPAddress) { a.Spec.Gateway = "10.0.0.2" }, "with gateway 10.0.0.2, but gateway4 of the card is 10.0.0.1"},
		"claim":   {func(a *ipamclusterv1.IPAddress) { a.Spec.ClaimRef.Name = "claim-0-0" }, "of claim-0-0 to IPAddressClaim"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			machine := w.worker(name, fromPools(name+"-p", name+"-q"))
			w.fulfillClaim(w.address(name+"-0-0", "10.0.0.5", 24, "10.0.0.1"))
			wrong := w.address(name+"-0-1", "10.0.0.6", 24, "10.0.0.1")
			tc.answer(wrong)
			w.fulfillClaim(wrong)
			w.waitForAddressMessage(machine, tc.says)
			w.Expect(w.addressesOf(name, infrav1.VSphereVMIPAddressClaimsNotFulfilledReason)).To(ContainSubstring(tc.says))
			w.Expect(w.vms()).NotTo(HaveKey(name))
			w.remove(machine)
			w.waitForDeletion(w.addressClaim0(name + "-0-0"))
			w.waitForDeletion(w.addressClaim0(name + "-0-1"))
		})
	}
}

func TestDuplicateAddressBelongsToFirstMachine(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	first := w.worker("first", fromPools("p"))
	w.fulfillClaim(w.address("first-0-0", "10.0.0.5", 24, ""))
	w.waitForProvisioned(first)
	second := w.worker("second", fromPools("p"))
	w.addressClaim("second-0-0")
	w.fulfillClaim(w.address("second-0-0", "10.0.0.5", 24, ""))
	w.waitForAddressMessage(second, "Pool p assigned 10.0.0.5 to IPAddressClaim second-0-0, but it already belongs to first-0-0")
	w.Expect(w.vms()).To(HaveLen(1))
	w.addressesOf("first", infrav1.VSphereVMIPAddressClaimsFulfilledReason)

	elsewhere := w.worker("elsewhere", fromPools("q"))
	w.fulfillClaim(w.address("elsewhere-0-0", "10.0.0.5", 24, ""))
	w.waitForProvisioned(elsewhere)
}

// addressClaim0 returns a claim that need not exist.
func (w *fixture) addressClaim0(name string) *ipamclusterv1.IPAddressClaim {
	return &ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta(name)}
}

func TestPoolErrorIsReported(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", fromPools("p"))
	w.setClaimStatus("node-0-0", func(status *ipamclusterv1.IPAddressClaimStatus) {
		status.Conditions = []metav1.Condition{{
			Type: clusterv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: "PoolExhausted", Message: "no address is left", LastTransitionTime: metav1.Now(),
		}}
	})
	w.waitForAddressMessage(machine, "Pool p allocates no address: PoolExhausted: no address is left")
	w.fulfillClaim(w.address("node-0-0", "10.0.0.5", 24, ""))
	w.waitForProvisioned(machine)
	w.Expect(w.card(w.vms()["node"]).Gateway4).To(BeEmpty(), "a pool need not have a gateway")
}

func TestAddressOfRunningMachineIsKept(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", fromPools("p"))
	w.fulfillClaim(w.address("node-0-0", "10.0.0.5", 24, ""))
	w.waitForProvisioned(machine)
	claim := w.addressClaim("node-0-0")
	w.Expect(w.client.Delete(t.Context(), claim)).To(Succeed())
	w.Expect(w.addressesOf("node", infrav1.VSphereVMIPAddressClaimsNotFulfilledReason)).
		To(Equal("IPAddressClaim node-0-0 is being deleted, but virtual machine node still uses its address: delete the Machine to release it"))
	w.Expect(ptr.Deref(w.vsphereVM("node").Status.Ready, false)).To(BeTrue())

	update(w, claim, func(c *ipamclusterv1.IPAddressClaim) { c.Finalizers = nil })
	w.Eventually(func() string { return w.addressesOf("node", infrav1.VSphereVMIPAddressClaimsNotFulfilledReason) }).
		Should(HavePrefix("IPAddressClaim node-0-0 was deleted, so its address may be allocated to another machine"))
	w.Expect(w.addressClaims()).To(BeEmpty(), "another would have another address")
	w.waitForProvisioned(machine)
	w.remove(machine)
}

func TestClaimIsFoundAfterRestart(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", fromPools("p"))
	claim := w.addressClaim("node-0-0")
	w.stop()
	w.fulfillClaim(w.address("node-0-0", "10.0.0.5", 24, ""))
	w.start()
	w.waitForProvisioned(machine)
	w.Expect(w.addressClaim("node-0-0").UID).To(Equal(claim.UID))
}

func TestDeletedMachineLeavesNoClaim(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", fromPools("p", "q", "r"))
	w.addressClaim("node-0-0")
	w.remove(machine)
	w.Consistently(w.addressClaims, quietPeriod).Should(BeEmpty())
}

func TestPreparedClaimIsUsedAndProtected(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.create(&ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta("node-0-0"), Spec: ipamclusterv1.IPAddressClaimSpec{
		PoolRef: ipamclusterv1.IPPoolReference{APIGroup: "ipam.example.com", Kind: "Pool", Name: "p"},
	}})
	w.fulfillClaim(w.address("node-0-0", "10.0.0.99", 24, ""))
	w.waitForProvisioned(w.worker("node", fromPools("p")))
	w.Expect(w.vms()["node"].IPs).To(ConsistOf("10.0.0.99"))
	claim := w.addressClaim("node-0-0")
	w.Expect(claim.Finalizers).To(ConsistOf(infrav1.IPAddressClaimFinalizer))
	w.Expect(metav1.IsControlledBy(claim, w.vsphereVM("node"))).To(BeTrue())
}

// Upstream owns its claims without being their controller.
func TestUpstreamClaimsAreAdopted(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", fromPools("p"))
	w.fulfillClaim(w.address("node-0-0", "10.0.0.5", 24, ""))
	w.waitForProvisioned(machine)
	w.stop()
	vm := w.vsphereVM("node")
	update(w, w.addressClaim("node-0-0"), func(c *ipamclusterv1.IPAddressClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.Group + "/v1beta1", Kind: "VSphereVM", Name: "node", UID: vm.UID}}
		c.Labels = map[string]string{clusterv1.ClusterNameLabel: "one"}
	})
	update(w, vm, func(vm *infrav1.VSphereVM) { vm.Annotations = nil })
	updateStatus(w, vm, func(vm *infrav1.VSphereVM) { vm.Status.Conditions = nil })
	claim := w.addressClaim("node-0-0")

	w.start()
	w.addressesOf("node", infrav1.VSphereVMIPAddressClaimsFulfilledReason)
	w.Expect(w.addressClaim("node-0-0").ResourceVersion).To(Equal(claim.ResourceVersion), "nothing about it needs to change")
	w.remove(machine)
	w.waitForDeletion(claim)
}
