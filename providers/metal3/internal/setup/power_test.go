// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// losePower cuts the power of a rack, and waits until the operator has detected it.
func (f *fixture) losePower(rack string) {
	f.t.Helper()
	f.Expect(f.sim.LoseDomain(f.t.Context(), rack)).To(Succeed())
	f.Eventually(func() bool { return simulator.WithoutPower(f.host(rack + "-host-001")) }).Should(BeTrue())
}

func TestMachineReportsPowerFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.losePower("rack-1")
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostErrorReason)).To(And(
		ContainSubstring("BareMetalHost "+rack1+", provisioned: "), ContainSubstring("cannot control the power"), ContainSubstring("restore the power")))
	f.Expect(f.sim.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	f.waitForCondition(machine, clusterv1.ReadyCondition, clusterv1.ReadyReason)
}

// An operator that cannot control the power of a machine neither deprovisions its host nor reports an error. Following the
// message of the machine releases it.
func TestDeletionWithoutPower(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.losePower("rack-1")
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	deleting := func(message string) {
		f.t.Helper()
		f.Eventually(func(g Gomega) string {
			g.Expect(f.get(machine)).NotTo(BeNil())
			return f.waitForCondition(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition, infrav1.Metal3MachineDeletingReason)
		}).Should(ContainSubstring(message))
	}
	deleting(`set the annotation baremetalhost.metal3.io/detached of the BareMetalHost to {"force":true}`)

	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, bmov1alpha1.DetachedAnnotation, `{"force":true}`)
	})
	deleting("it is detached by force: delete the BareMetalHost")
	f.Eventually(func() bmov1alpha1.OperationalStatus { return f.host(rack1).Status.OperationalStatus }).Should(Equal(bmov1alpha1.OperationalStatusDetached))
	f.Expect(f.client.Delete(t.Context(), f.host(rack1))).To(Succeed())
	f.waitForDeletion(machine)
}

func TestDeletionAfterPowerRestore(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.losePower("rack-1")
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	f.Eventually(func() bmov1alpha1.ProvisioningState { return f.host(rack1).Status.Provisioning.State }).Should(Equal(bmov1alpha1.StateDeprovisioning))
	f.Expect(f.sim.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	f.waitForDeletion(machine)
}

// The operator limits the number of hosts that it works on, and leaves the state of others unchanged.
func TestMachineReportsDelayedHost(t *testing.T) {
	t.Parallel()
	f := newStaticFixture(t)
	f.hosts(simulator.Racks(1, 1))
	f.start()
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	delay := func(state bmov1alpha1.ProvisioningState, status bmov1alpha1.OperationalStatus) {
		updateStatus(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
			host.Status.Provisioning.State, host.Status.OperationalStatus = state, status
		})
	}
	delay(bmov1alpha1.StateAvailable, bmov1alpha1.OperationalStatusDelayed)
	f.Eventually(func() string {
		return f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	}).Should(ContainSubstring("PROVISIONING_LIMIT"))
	delay(bmov1alpha1.StateProvisioned, bmov1alpha1.OperationalStatusOK)
	f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	delay(bmov1alpha1.StateProvisioned, bmov1alpha1.OperationalStatusDelayed)
	f.Eventually(func() string {
		return f.waitForReason(machine, infrav1.Metal3MachineDeletingReason)
	}).Should(And(ContainSubstring("not deprovisioned"), ContainSubstring("PROVISIONING_LIMIT")))
	delay(bmov1alpha1.StateAvailable, bmov1alpha1.OperationalStatusOK)
	f.waitForDeletion(machine)
}
