// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// pool creates a pool of two addresses, in a subnet that no other test uses.
func (w *fixture) pool(name string, subnet byte) string {
	w.t.Helper()
	prefix := fmt.Sprintf("10.77.%d.", subnet)
	pool := simulator.Pool(w.name+"-"+name, prefix+"0/24", prefix+"10", prefix+"11")
	w.Expect(w.harvester.Create(w.t.Context(), &pool)).To(Succeed())
	return pool.Name
}

func (w *fixture) allocated(pool string) map[string]string {
	w.t.Helper()
	stored := &lbv1.IPPool{}
	w.Expect(w.harvester.Get(w.t.Context(), client.ObjectKey{Name: pool}, stored)).To(Succeed())
	return stored.Status.Allocated
}

func fromPools(pools ...string) func(*infrav1.HarvesterMachine) {
	return func(infra *infrav1.HarvesterMachine) {
		infra.Spec.VMNetworkConfig = &infrav1.VMNetworkConfig{IPPoolRefs: pools, Gateway: "10.77.0.1", SubnetMask: "255.255.0.0", DNSServers: []string{"10.77.0.2"}}
	}
}

func TestAddressesFromSeveralPools(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	one, two := w.pool("one", 1), w.pool("two", 2)
	var first *infrav1.HarvesterMachine
	for _, name := range []string{"a", "b", "c", "d"} {
		infra := w.machine(name, "zone-1", fromPools(one, two))
		now := w.waitForProvisioned(infra)
		w.Expect(now.Status.Addresses[0]).To(Equal(clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: now.Status.AllocatedIPAddress}))
		w.Expect(w.address(infra)).To(Equal(now.Status.AllocatedIPAddress))
		first = infra
	}
	w.Expect(slices.Collect(maps.Keys(w.allocated(one)))).To(ConsistOf("10.77.1.10", "10.77.1.11"))
	w.Expect(w.allocated(two)).To(HaveLen(2))

	late := w.machine("late", "zone-1", fromPools(one, two))
	w.waitForReason(late, infrav1.MachineCreatedCondition, infrav1.WaitingForAddressReason)
	w.Expect(w.waitForReason(late, infrav1.VMIPAllocatedCondition, infrav1.VMIPPoolExhaustedReason)).To(ContainSubstring("has no free address: add a range"))
	freed := w.latest(first).Status.AllocatedIPAddress
	w.delete(first)
	w.waitForDeletion(first)
	w.Expect(w.waitForProvisioned(late).Status.AllocatedIPAddress).To(Equal(freed))
}

// hold blocks or allows the deletion of the machine's virtual machine by adding or removing a finalizer.
func (w *fixture) hold(infra *infrav1.HarvesterMachine, change func(client.Object, string) bool) {
	w.t.Helper()
	harvesterUser := integration.User{T: w.t, G: w.WithT, Client: w.harvester}
	integration.Update(harvesterUser, w.vm(infra), integration.Whole, func(vm *kubevirtv1.VirtualMachine) { change(vm, "test.faultline.io/held") })
}

// Upstream releases the address first, so that another machine can get it while the virtual machine still uses it.
func TestD2AddressIsReleasedAfterVirtualMachineIsDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	pool := w.pool("one", 3)
	infra := w.machine("a", "zone-1", fromPools(pool))
	address := w.waitForProvisioned(infra).Status.AllocatedIPAddress
	w.hold(infra, controllerutil.AddFinalizer)
	w.delete(infra)
	w.Eventually(func() bool { return w.vm(infra).DeletionTimestamp.IsZero() }).Should(BeFalse())
	w.Consistently(func() map[string]string { return w.allocated(pool) }).Should(HaveKeyWithValue(address, HavePrefix(w.formerHolder("a")+"@")))
	w.hold(infra, controllerutil.RemoveFinalizer)
	w.waitForDeletion(infra)
	w.Expect(w.allocated(pool)).To(BeEmpty())
}

// Upstream releases the address in its status in each reconcile of a deletion, regardless of its holder.
func TestD1DeleteKeepsAddressOfNewHolder(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	pool := w.pool("one", 4)
	infra := w.machine("a", "zone-1", fromPools(pool))
	address := w.waitForProvisioned(infra).Status.AllocatedIPAddress
	w.Eventually(func() error {
		stored := &lbv1.IPPool{}
		w.Expect(w.harvester.Get(t.Context(), client.ObjectKey{Name: pool}, stored)).To(Succeed())
		stored.Status.Allocated[address] = "default/lb" // a user reassigned it by hand
		return w.harvester.Update(t.Context(), stored)
	}).Should(Succeed())
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Expect(w.allocated(pool)).To(HaveKeyWithValue(address, "default/lb"))
}

func TestUnrecordedAddressIsReleased(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	pool := w.pool("one", 5)
	infra := w.machine("a", "zone-1", fromPools(pool))
	w.waitForProvisioned(infra)
	stop()
	w.updateStatus(infra, func(now *infrav1.HarvesterMachine) { now.Status = infrav1.HarvesterMachineStatus{} })
	w.delete(infra)
	w.start()
	w.waitForDeletion(infra)
	w.Expect(w.allocated(pool)).To(BeEmpty())
}

func TestAddressIsRestoredAfterMove(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	pool := w.pool("one", 6)
	infra := w.machine("a", "zone-1", fromPools(pool))
	address := w.waitForProvisioned(infra).Status.AllocatedIPAddress
	stop()
	w.updateStatus(infra, func(now *infrav1.HarvesterMachine) { now.Status = infrav1.HarvesterMachineStatus{} })
	w.start()
	now := w.waitForProvisioned(infra)
	w.Expect(now.Status.AllocatedIPAddress).To(Equal(address))
	w.Expect(now.Status.AllocatedPoolRef).To(Equal(pool))
	w.Expect(w.allocated(pool)).To(HaveLen(1))
}

func TestPoolOfFailureDomainTakesPrecedence(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of := func(pool string) *infrav1.VMNetworkConfig {
		return &infrav1.VMNetworkConfig{IPPoolRefs: []string{pool}, Gateway: "10.77.0.1", SubnetMask: "255.255.0.0"}
	}
	zones, rest, later := w.pool("zone", 9), w.pool("rest", 10), w.pool("later", 11)
	w.updateCluster(func(infra *infrav1.HarvesterCluster) {
		infra.Spec.VMNetworkConfig = of(rest)
		infra.Spec.FailureDomains = []infrav1.HarvesterFailureDomain{{Name: "zone-1", VMNetworkConfig: of(zones)}, {Name: "zone-2"}}
	})
	w.start()
	for zone, prefix := range map[string]string{"zone-1": "10.77.9.", "zone-2": "10.77.10."} {
		infra := w.machine(zone, zone)
		w.Expect(w.waitForProvisioned(infra).Status.AllocatedIPAddress).To(HavePrefix(prefix))
		w.Expect(w.address(infra)).To(HavePrefix(prefix))
	}
	own := w.machine("own", "zone-1", fromPools(later))
	w.Expect(w.waitForProvisioned(own).Status.AllocatedPoolRef).To(Equal(later), "the spec of the machine takes precedence")

	// A machine releases its address in the pool that it came from, even if its failure domain now names another pool.
	w.updateCluster(func(infra *infrav1.HarvesterCluster) { infra.Spec.FailureDomains[0].VMNetworkConfig = of(later) })
	first := &infrav1.HarvesterMachine{ObjectMeta: w.meta(w.name + "-zone-1")}
	w.delete(first)
	w.waitForDeletion(first)
	w.Expect(w.allocated(zones)).To(BeEmpty())
	w.Expect(w.allocated(rest)).To(HaveLen(1))
}

func TestStaticAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1", func(infra *infrav1.HarvesterMachine) {
		infra.Spec.NetworkConfig = &infrav1.NetworkConfig{Address: "10.78.0.5/24", Gateway: "10.78.0.1"}
	})
	now := w.waitForProvisioned(infra)
	w.Expect(now.Status.Addresses[0].Address).To(Equal("10.78.0.5"))
	w.Expect(w.address(infra)).To(Equal("10.78.0.5"))
	w.Expect(now.Status.AllocatedIPAddress).To(BeEmpty())
}

func TestDeleteLeavesOnlyForeignObjects(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra, other := w.machine("a", "zone-1"), w.machine("a-disk", "zone-1")
	w.waitForProvisioned(infra)
	w.waitForProvisioned(other)
	w.delete(infra)
	w.waitForDeletion(infra)
	// Upstream deletes volumes by the prefix of their names.
	w.Eventually(w.claims).Should(HaveLen(1))
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(HaveLen(1))
	w.Expect(w.listOnHarvester(&corev1.SecretList{}).(*corev1.SecretList).Items).To(HaveLen(1))
	w.Expect(w.vm(other).DeletionTimestamp).To(BeNil())
}
