// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// newFixtureWithStorage returns a fixture without failure domains, with storage policies.
func newFixtureWithStorage(t *testing.T) *fixture {
	t.Helper()
	layout := simulator.ThreeZones()
	layout.Policies = []simulator.StoragePolicy{
		{Name: "gold", Datastores: []string{"datastore-a", simulator.SharedDatastore}},
		{Name: "silver", Datastores: []string{"datastore-b"}},
		{Name: "secret", Datastores: []string{"datastore-a"}, Encrypts: true},
	}
	layout.Datacenters[0].Templates = append(layout.Datacenters[0].Templates, simulator.Template{
		Name: "disks", DiskGiB: 10, FurtherGiB: []int{5}, Datastore: simulator.SharedDatastore, Networks: []string{simulator.NetworkName},
	})
	w := newFixture(t, layout)
	w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	w.Expect(w.vc.SetFreeSpace("dc-1", "datastore-a", 500)).To(Succeed())
	w.Expect(w.vc.SetFreeSpace("dc-1", simulator.SharedDatastore, 1000)).To(Succeed())
	return w
}

// newStoredMachine creates a machine without a datastore.
func (w *fixture) newStoredMachine(name string, change func(*infrav1.VSphereMachineSpec)) *infrav1.VSphereMachine {
	w.t.Helper()
	return w.worker(name, func(m *infrav1.VSphereMachine) {
		m.Spec.Datastore, m.Spec.CloneMode = "", infrav1.FullClone
		change(&m.Spec)
	})
}

func TestMachineStorage(t *testing.T) {
	t.Parallel()
	w := newFixtureWithStorage(t)
	w.Expect(w.vc.AddKeyProvider("vault", false)).To(Succeed())
	full := w.newStoredMachine("full", func(s *infrav1.VSphereMachineSpec) {
		s.Template, s.StoragePolicyName, s.CryptoProfile, s.CryptoKeyID = "disks", "gold", "secret", "vault"
		s.DiskGiB, s.AdditionalDisksGiB = 11, []int32{6}
		s.DataDisks = []infrav1.VSphereDisk{
			{Name: "etcd", SizeGiB: 2, ProvisioningMode: infrav1.EagerlyZeroedProvisioningMode},
			{Name: "images", SizeGiB: 3, ProvisioningMode: infrav1.ThinProvisioningMode},
			{Name: "logs", SizeGiB: 4, ProvisioningMode: infrav1.ThickProvisioningMode},
			{Name: "rest", SizeGiB: 5},
		}
		s.Resources = infrav1.VirtualMachineResources{
			Requests: infrav1.VirtualMachineResourceSpec{CPU: resource.MustParse("1000000001"), Memory: resource.MustParse("1G")},
			Limits:   infrav1.VirtualMachineResourceSpec{CPU: resource.MustParse("2G"), Memory: resource.MustParse("2Gi")},
			Shares:   infrav1.VirtualMachineResourceShares{CPU: 1500, Memory: 30000},
		}
		s.FtEncryptionMode, s.MigrateEncryption = infrav1.FtEncryptionOpportunistic, infrav1.RequiredMigrateEncryption
	})
	w.newStoredMachine("one-datastore", func(s *infrav1.VSphereMachineSpec) { s.StoragePolicyName, s.Datastore = "gold", "datastore-a" })
	w.waitForProvisioned(full)
	made := w.vms()["full"]
	w.Expect(made.Datastore).To(Equal(simulator.SharedDatastore), "of those of the policy that has the most room")
	w.Expect(made.Disks).To(Equal([]simulator.Disk{
		{GiB: 11, Policy: "gold"}, {GiB: 6, Unit: 1, Policy: "gold"},
		{GiB: 2, Unit: 2, Policy: "gold", Mode: "EagerlyZeroed"}, {GiB: 3, Unit: 3, Policy: "gold", Mode: "Thin"},
		{GiB: 4, Unit: 4, Policy: "gold", Mode: "Thick"}, {GiB: 5, Unit: 5, Policy: "gold"},
	}))
	w.Expect(made.HomePolicy).To(Equal("secret"))
	w.Expect(made.CPU).To(Equal(simulator.Resources{Reservation: 1001, Limit: 2000, Shares: 1500}), "in MHz, rounded up")
	w.Expect(made.Memory).To(Equal(simulator.Resources{Reservation: 954, Limit: 2048, Shares: 30000}), "in MiB, rounded up")
	w.Expect([]string{made.FTEncryption, made.MigrateEncryption}).To(Equal([]string{"ftEncryptionOpportunistic", "required"}))
	w.Expect([]string{made.Key}).To(Equal(w.vc.Keys("vault")))
	w.Eventually(func() string { return w.vms()["one-datastore"].HomePolicy }).Should(Equal("gold"))
	w.Expect(w.vms()["one-datastore"].Datastore).To(Equal("datastore-a"))
}

func TestPolicyOfAMachineInAFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixtureWithStorage(t)
	w.threeZones()
	w.cluster("zoned")
	machine := w.machine("zoned", "node", w.name+"-a", func(m *infrav1.VSphereMachine) { m.Spec.StoragePolicyName = "gold" })
	other := w.machine("zoned", "other", w.name+"-b", func(m *infrav1.VSphereMachine) { m.Spec.StoragePolicyName = "gold" })
	w.waitForProvisioned(machine)
	made := w.vms()["node"]
	w.Expect([]string{made.Datastore, made.HomePolicy}).To(Equal([]string{"datastore-a", "gold"}))
	message := w.waitForCondition(other, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineNoCompatibleDatastoreReason)
	w.Expect(message).To(ContainSubstring("datastore-b is not compatible"), "the domain's datastore is not of the policy")
}
