// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// Each problem is reported with its field and fix, does not affect running machines, and clears when it is fixed.
func TestMissingStorageIsReported(t *testing.T) {
	t.Parallel()
	w := newFixtureWithStorage(t)
	running := w.newStoredMachine("running", func(s *infrav1.VSphereMachineSpec) { s.StoragePolicyName = "gold" })
	w.waitForProvisioned(running)
	for name, tc := range map[string]struct {
		change func(*infrav1.VSphereMachineSpec)
		reason string
		text   []string
		repair func(*fixture)
	}{
		"no-policy": {
			func(s *infrav1.VSphereMachineSpec) { s.StoragePolicyName = "bronze" },
			infrav1.VSphereVMVirtualMachineStoragePolicyNotFoundReason, []string{`storagePolicyName "bronze"`, "gold, secret, silver"},
			func(w *fixture) {
				w.vc.AddPolicy(simulator.StoragePolicy{Name: "bronze", Datastores: []string{"datastore-a"}})
			},
		},
		"no-datastore": {
			func(s *infrav1.VSphereMachineSpec) { s.StoragePolicyName = "silver" },
			infrav1.VSphereVMVirtualMachineNoCompatibleDatastoreReason, []string{`storagePolicyName "silver"`, "/dc-1/datastore/datastore-a", "use another policy"},
			func(w *fixture) {
				w.vc.AddPolicy(simulator.StoragePolicy{Name: "silver", Datastores: []string{"datastore-a"}})
			},
		},
		"no-encrypting-policy": {
			func(s *infrav1.VSphereMachineSpec) { s.CryptoProfile, s.Datastore = "hidden", "datastore-a" },
			infrav1.VSphereVMVirtualMachineStoragePolicyNotFoundReason, []string{`cryptoProfile "hidden"`}, nil,
		},
		"no-key": {
			func(s *infrav1.VSphereMachineSpec) { s.CryptoKeyID, s.Datastore = "vault", "datastore-a" },
			infrav1.VSphereVMVirtualMachineKeyProviderMissingReason, []string{`cryptoKeyID "vault"`, "add a key provider"}, nil,
		},
		"too-many-sizes": {
			func(s *infrav1.VSphereMachineSpec) { s.AdditionalDisksGiB, s.Datastore = []int32{20}, "datastore-a" },
			infrav1.VSphereVMVirtualMachineInvalidSpecReason, []string{"additionalDisksGiB has 1 sizes", "dataDisks"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			machine := w.newStoredMachine(name, tc.change)
			message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, tc.reason)
			for _, text := range tc.text {
				w.Expect(message).To(ContainSubstring(text))
			}
			w.Expect(w.vms()).NotTo(HaveKey(name))
			if tc.repair != nil {
				tc.repair(w)
				w.waitForProvisioned(machine)
				return
			}
			w.remove(machine)
		})
	}
	w.get(running)
	w.Expect(conditions.IsTrue(running, infrav1.VSphereMachineVirtualMachineProvisionedCondition)).To(BeTrue())
}

func TestRejectingPolicyServiceIsRetried(t *testing.T) {
	t.Parallel()
	w := newFixtureWithStorage(t)
	w.vc.SetPolicyAccess(false)
	machine := w.newStoredMachine("node", func(s *infrav1.VSphereMachineSpec) { s.StoragePolicyName = "gold" })
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.PrivilegeMissingReason)
	w.Expect(message).To(ContainSubstring("StorageProfile.View"))
	w.vc.SetPolicyAccess(true)
	w.waitForProvisioned(machine)

	w.stop()
	w.vc.OverloadCalls("PbmQueryProfile", -1)
	w.start()
	second := w.newStoredMachine("second", func(s *infrav1.VSphereMachineSpec) { s.StoragePolicyName = "gold" })
	w.Eventually(func() string {
		return conditions.GetMessage(w.vsphereVM("second"), infrav1.VSphereVMVirtualMachineProvisionedCondition)
	}).Should(And(ContainSubstring("vCenter is busy"), ContainSubstring("storage policy service")))
	w.waitForProvisioned(w.worker("bystander"))
	w.vc.OverloadCalls("PbmQueryProfile", 0)
	w.waitForProvisioned(second)
}
