// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// allocate assigns an address of a pool to a holder, as upstream or another manager would. The holder "" releases it.
func (w *fixture) allocate(pool, address, holder string) {
	w.t.Helper()
	w.Eventually(func() error {
		stored := &lbv1.IPPool{}
		w.Expect(w.harvester.Get(w.t.Context(), client.ObjectKey{Name: pool}, stored)).To(Succeed())
		if stored.Status.Allocated == nil {
			stored.Status.Allocated = map[string]string{}
		}
		stored.Status.Allocated[address] = holder
		if holder == "" {
			delete(stored.Status.Allocated, address)
		}
		return w.harvester.Update(w.t.Context(), stored)
	}).Should(Succeed())
}

// formerHolder returns the machine's former holder name, without its id.
func (w *fixture) formerHolder(name string) string { return w.name + "/" + w.name + "-" + name }

// revertToFormerHolder converts a running machine to one of an earlier release, which held its address by its name alone. No
// manager may be running.
func (w *fixture) revertToFormerHolder(infra *infrav1.HarvesterMachine, pool string) {
	w.t.Helper()
	w.update(infra, func(now *infrav1.HarvesterMachine) { delete(now.Annotations, infrav1.IPHolderAnnotation) })
	w.allocate(pool, w.latest(infra).Status.AllocatedIPAddress, infra.Namespace+"/"+infra.Name)
}

func TestMachinesOfSameNameHaveDifferentAddresses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	pool := w.pool("one", 7)
	w.allocate(pool, "10.77.7.10", w.formerHolder("a")) // of the other cluster, whose holder names have no ids
	infra := w.machine("a", "zone-1", fromPools(pool))
	w.Expect(w.waitForProvisioned(infra).Status.AllocatedIPAddress).To(Equal("10.77.7.11"))
	w.Expect(w.allocated(pool)).To(HaveKeyWithValue("10.77.7.11", HavePrefix(w.formerHolder("a")+"@")), "people find it by its name")

	w.delete(infra)
	w.waitForDeletion(infra)
	w.Expect(w.allocated(pool)).To(Equal(map[string]string{"10.77.7.10": w.formerHolder("a")}))
	w.Expect(w.event(infra, "AddressLeft")).To(BeEmpty())
}

func TestAddressOfEarlierReleaseIsAdopted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	pool := w.pool("one", 8)
	infra := w.machine("a", "zone-1", fromPools(pool))
	address := w.waitForProvisioned(infra).Status.AllocatedIPAddress
	own := w.allocated(pool)
	stop()
	w.revertToFormerHolder(infra, pool)
	w.Expect(w.allocated(pool)).NotTo(Equal(own))
	stop = w.start()
	w.Eventually(func() map[string]string { return w.allocated(pool) }).Should(Equal(own))
	w.Eventually(func() map[string]string { return w.latest(infra).Annotations }).Should(HaveKeyWithValue(infrav1.IPHolderAnnotation, own[address]))
	w.waitForReason(infra, infrav1.VMIPAllocatedCondition, infrav1.VMIPAllocatedReason)
	stop()

	w.revertToFormerHolder(infra, pool)
	w.delete(infra)
	w.start()
	w.waitForDeletion(infra)
	w.Expect(w.allocated(pool)).To(BeEmpty(), "it is released all the same when it goes at once")
}

func TestUsedAddressIsKeptWithoutRecord(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	pool := w.pool("one", 9)
	infra := w.machine("a", "zone-1", fromPools(pool))
	address := w.waitForProvisioned(infra).Status.AllocatedIPAddress
	stop()
	w.revertToFormerHolder(infra, pool)
	w.updateStatus(infra, func(now *infrav1.HarvesterMachine) { now.Status = infrav1.HarvesterMachineStatus{} }) // as after a move
	w.start()
	w.Eventually(func() string { return w.latest(infra).Status.AllocatedIPAddress }).Should(Equal(address))
	w.Expect(w.allocated(pool)).To(HaveKeyWithValue(address, HavePrefix(w.formerHolder("a")+"@")))
}

func TestDuplicateAddressIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	pool := w.pool("one", 10)
	infra := w.machine("a", "zone-1", fromPools(pool))
	address := w.waitForProvisioned(infra).Status.AllocatedIPAddress
	stop()
	w.revertToFormerHolder(infra, pool)
	w.allocate(pool, address, w.formerHolder("a")+"@another") // its manager started first
	w.start()
	w.Expect(w.waitForReason(infra, infrav1.VMIPAllocatedCondition, infrav1.AddressNotOursReason)).To(And(
		ContainSubstring(address), ContainSubstring(pool), ContainSubstring("delete the Machine")))
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Expect(w.allocated(pool)).To(HaveKeyWithValue(address, w.formerHolder("a")+"@another"))
}

func TestAddressOfUnknownHolderIsKeptAndReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("one", 11)
	w.allocate(pool, "10.77.11.10", w.formerHolder("a"))
	infra := w.machine("a", "zone-1", fromPools(pool), func(infra *infrav1.HarvesterMachine) { // an earlier release started to create it
		infra.Annotations = map[string]string{infrav1.MachineIDAnnotation: "id-" + w.name, infrav1.IPPoolsAnnotation: pool}
	})
	w.start()
	w.Expect(w.waitForProvisioned(infra).Status.AllocatedIPAddress).To(Equal("10.77.11.11"))
	w.Eventually(func() string { return w.event(infra, "AddressLeft") }).Should(And(ContainSubstring("10.77.11.10"), ContainSubstring(pool)))
}
