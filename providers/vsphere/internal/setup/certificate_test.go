// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// pinning sets a thumbprint on a machine, as its template may.
func pinning(thumbprint string) func(*infrav1.VSphereMachine) {
	return func(m *infrav1.VSphereMachine) { m.Spec.Thumbprint = thumbprint }
}

// correctThumbprint sets the VSphereCluster's thumbprint to the current certificate of its vCenter.
func (w *fixture) correctThumbprint(cluster *infrav1.VSphereCluster) {
	w.t.Helper()
	w.waitForCondition(cluster, infrav1.VSphereClusterVCenterAvailableCondition, infrav1.ThumbprintMismatchReason)
	update(w, cluster, func(c *infrav1.VSphereCluster) { c.Spec.Thumbprint = w.vc.Thumbprint() })
	w.waitForAvailable(cluster)
}

// waitForThumbprintMismatch waits until the deletion of a VSphereVM is blocked by its vCenter's certificate.
func (w *fixture) waitForThumbprintMismatch(name string) *infrav1.VSphereVM {
	w.t.Helper()
	vm := w.vsphereVM(name)
	w.waitForCondition(vm, infrav1.VSphereVMVCenterAvailableCondition, infrav1.ThumbprintMismatchReason)
	return vm
}

func TestMachinesSurviveCertificateRenewal(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one", onServer(w.vc))
	old := w.vc.Thumbprint()
	machine := w.worker("old", pinning(old))
	w.waitForProvisioned(machine)
	w.Expect(w.vc.RenewCertificate()).To(Succeed())
	w.correctThumbprint(cluster)

	w.waitForProvisioned(w.worker("new", pinning(old)))
	w.Eventually(func() string { return w.vsphereVM("old").Spec.Thumbprint }).Should(Equal(w.vc.Thumbprint()))
	w.remove(machine)
	w.Expect(w.vms()).To(HaveLen(1), "the new one")
}

func TestClusterThumbprintIsCorrectedDuringDeletion(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one", onServer(w.vc))
	machine := w.worker("node")
	w.waitForProvisioned(machine)
	w.Expect(w.vc.RenewCertificate()).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.waitForThumbprintMismatch("node")
	w.correctThumbprint(cluster)
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestZoneThumbprintIsCorrectedDuringDeletion(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zone := w.threeZones()[0]
	machine := w.machine("one", "node", zone.Name)
	w.waitForProvisioned(machine)
	w.Expect(w.vc.RenewCertificate()).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.waitForThumbprintMismatch("node")
	update(w, zone, func(z *infrav1.VSphereDeploymentZone) { z.Spec.Thumbprint = w.vc.Thumbprint() })
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

// Only the machine has a thumbprint for a server that is not its cluster's.
func TestThumbprintOnOtherServerIsCorrected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		correct func(w *fixture, machine *infrav1.VSphereMachine, vm *infrav1.VSphereVM, thumbprint string)
	}{
		"at the VSphereMachine": {func(w *fixture, machine *infrav1.VSphereMachine, _ *infrav1.VSphereVM, thumbprint string) {
			update(w, machine, func(m *infrav1.VSphereMachine) { m.Spec.Thumbprint = thumbprint })
		}},
		"at the VSphereVM": {func(w *fixture, _ *infrav1.VSphereMachine, vm *infrav1.VSphereVM, thumbprint string) {
			update(w, vm, func(vm *infrav1.VSphereVM) { vm.Spec.Thumbprint = thumbprint })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, simulator.ThreeZones())
			other := simulator.Start(t, simulator.ThreeZones(), simulator.WithCredentials(w.vc.Username(), w.vc.Password()))
			w.cluster("one", onServer(w.vc))
			machine := w.worker("node", func(m *infrav1.VSphereMachine) {
				m.Spec.Server, m.Spec.Thumbprint = other.Host(), other.Thumbprint()
			})
			w.waitForProvisioned(machine)
			w.Expect(other.RenewCertificate()).To(Succeed())
			w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
			tc.correct(w, machine, w.waitForThumbprintMismatch("node"), other.Thumbprint())
			w.waitForDeletion(machine)
			for _, vm := range other.VMs() {
				w.Expect(vm.Name).To(Equal(simulator.TemplateName))
			}
		})
	}
}
