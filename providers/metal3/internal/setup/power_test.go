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
func (w *world) losePower(rack string) {
	w.t.Helper()
	w.Expect(w.sim.LoseDomain(w.t.Context(), rack)).To(Succeed())
	w.Eventually(func() bool { return simulator.WithoutPower(w.host(rack + "-host-001")) }).Should(BeTrue())
}

func TestMachineOnAHostWithoutPowerSaysSoUntilThePowerIsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	w.losePower("rack-1")
	w.Expect(w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostErrorReason)).To(And(
		ContainSubstring("BareMetalHost "+rack1+", provisioned: "), ContainSubstring("cannot reach the power"), ContainSubstring("restore the power")))
	w.Expect(w.sim.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	w.condition(machine, clusterv1.ReadyCondition, clusterv1.ReadyReason)
}

// An operator that cannot control the power of a machine neither deprovisions its host nor reports an error. Following the
// message of the machine releases it.
func TestDeletedMachineWithoutPowerSaysWhatLetsItGoAndThatDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	w.losePower("rack-1")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	deleting := func(message string) {
		w.t.Helper()
		w.Eventually(func(g Gomega) string {
			g.Expect(w.get(machine)).NotTo(BeNil())
			return w.condition(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition, infrav1.Metal3MachineDeletingReason)
		}).Should(ContainSubstring(message))
	}
	deleting(`set the annotation baremetalhost.metal3.io/detached of the BareMetalHost to {"force":true}`)

	update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, bmov1alpha1.DetachedAnnotation, `{"force":true}`)
	})
	deleting("it is detached by force: delete the BareMetalHost")
	w.Eventually(func() bmov1alpha1.OperationalStatus { return w.host(rack1).Status.OperationalStatus }).Should(Equal(bmov1alpha1.OperationalStatusDetached))
	w.Expect(w.client.Delete(t.Context(), w.host(rack1))).To(Succeed())
	w.gone(machine)
}

func TestDeletedMachineGoesWhenThePowerIsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	w.losePower("rack-1")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.Eventually(func() bmov1alpha1.ProvisioningState { return w.host(rack1).Status.Provisioning.State }).Should(Equal(bmov1alpha1.StateDeprovisioning))
	w.Expect(w.sim.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	w.gone(machine)
}

// The operator limits the number of hosts that it works on, and leaves the state of others unchanged.
func TestMachineSaysThatItsHostWaitsForOthers(t *testing.T) {
	t.Parallel()
	w := stillWorld(t)
	w.hosts(simulator.Racks(1, 1))
	w.start()
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	delay := func(state bmov1alpha1.ProvisioningState, status bmov1alpha1.OperationalStatus) {
		updateStatus(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
			host.Status.Provisioning.State, host.Status.OperationalStatus = state, status
		})
	}
	delay(bmov1alpha1.StateAvailable, bmov1alpha1.OperationalStatusDelayed)
	w.Eventually(func() string {
		return w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	}).Should(ContainSubstring("PROVISIONING_LIMIT"))
	delay(bmov1alpha1.StateProvisioned, bmov1alpha1.OperationalStatusOK)
	w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	delay(bmov1alpha1.StateProvisioned, bmov1alpha1.OperationalStatusDelayed)
	w.Eventually(func() string {
		return w.waits(machine, infrav1.Metal3MachineDeletingReason)
	}).Should(And(ContainSubstring("not deprovisioned"), ContainSubstring("PROVISIONING_LIMIT")))
	delay(bmov1alpha1.StateAvailable, bmov1alpha1.OperationalStatusOK)
	w.gone(machine)
}
