// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/controller/harvestermachine"
	"github.com/faultline-io/faultline/shared/integration"
)

const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// join creates the Node of a virtual machine with that name.
func (w *fixture) join(name, providerID string) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{
		ProviderID: providerID, Taints: []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}},
	}}
	w.create(node)
	w.t.Cleanup(func() { w.Expect(w.client.Delete(w.context(), node)).To(Succeed()) })
	return node
}

// linkedMachine creates a machine whose Node has joined.
func (w *fixture) linkedMachine(name string) *infrav1.HarvesterMachine {
	w.t.Helper()
	infra := w.machine(name, "zone-1")
	w.waitForProvisioned(infra)
	w.join(infra.Name, "")
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureReadyReason)
	return infra
}

func (w *fixture) node(name string) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{}
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Name: name}, node)).To(Succeed())
	return node
}

func TestNodeIsInitializedWithoutCloudProvider(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.WaitingForNodeReason)
	w.join(infra.Name, "")
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureReadyReason)
	w.Expect(w.node(infra.Name).Spec.ProviderID).To(Equal(w.latest(infra).Spec.ProviderID))
	w.Expect(w.node(infra.Name).Spec.Taints).NotTo(ContainElement(HaveField("Key", uninitialized)))
	for _, address := range w.latest(infra).Status.Addresses {
		w.Expect(w.node(infra.Name).Status.Addresses).To(ContainElement(
			corev1.NodeAddress{Type: corev1.NodeAddressType(address.Type), Address: address.Address},
		), "its kubelet does not say where it is reached")
	}
	w.Expect(w.node(infra.Name).Status.Addresses).To(ContainElement(HaveField("Type", corev1.NodeInternalIP)))
}

func TestNodeIsLeftToCloudProvider(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(infra *infrav1.HarvesterCluster) {
		infra.Spec.UpdateCloudProviderConfig = infrav1.UpdateCloudProviderConfig{
			ManifestsConfigMapNamespace: "default", ManifestsConfigMapName: "ccm", ManifestsConfigMapKey: "manifests",
			CloudConfigCredentialsSecretName: "cloud-config", CloudConfigCredentialsSecretKey: "cloud-config",
		}
	})
	w.start()
	infra := w.linkedMachine("a")
	w.Expect(w.node(infra.Name).Spec.Taints).To(ContainElement(HaveField("Key", uninitialized)))
	w.Expect(w.node(infra.Name).Status.Addresses).To(BeEmpty())
}

func TestNodeAddressesFollowMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.linkedMachine("a")
	written := w.node(infra.Name).Status.Addresses
	set := func(addresses ...corev1.NodeAddress) {
		integration.Update(w.user(), w.node(infra.Name), integration.Status, func(node *corev1.Node) { node.Status.Addresses = addresses })
	}
	// look triggers a reconcile of the machine, as an event of its virtual machine would.
	look := func() {
		w.update(infra, func(infra *infrav1.HarvesterMachine) {
			metav1.SetMetaDataAnnotation(&infra.ObjectMeta, "looked-at", infra.ResourceVersion)
		})
	}
	set(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: infra.Name})
	w.Eventually(func() []corev1.NodeAddress {
		look()
		return w.node(infra.Name).Status.Addresses
	}).Should(Equal(written), "they were its machine's before it got others")

	theirs := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.2"}
	set(theirs)
	look()
	// Once another machine is created, this one has been reconciled.
	w.waitForProvisioned(w.machine("b", "zone-1"))
	w.Expect(w.node(infra.Name).Status.Addresses).To(Equal([]corev1.NodeAddress{theirs}))
}

func TestStripNodeKeepsIdentity(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "harvester://1", PodCIDR: "10.0.0.0/24", Taints: []corev1.Taint{{Key: uninitialized}}}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	harvestermachine.StripNode(node)
	g.Expect(node.Status.Addresses).To(HaveLen(1))
	g.Expect(node.Spec).To(Equal(corev1.NodeSpec{ProviderID: "harvester://1", Taints: []corev1.Taint{{Key: uninitialized}}}))
}

func TestNodeOfAnotherMachineIsNotChanged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.join(infra.Name, "harvester://another")
	w.waitForProvisioned(infra)
	w.Expect(w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.UnexpectedProviderIDReason)).To(ContainSubstring("delete the Node or the Machine"))
	w.Expect(w.node(infra.Name).Spec.Taints).To(ContainElement(HaveField("Key", uninitialized)))
}

func TestStoppedMachineIsNotReady(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.linkedMachine("a")
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: infra.Name}}
	integration.Update(w.user(), machine, integration.Status, func(machine *clusterv1.Machine) {
		machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: infra.Name}
	})

	strategy := func(wanted kubevirtv1.VirtualMachineRunStrategy) {
		harvesterUser := integration.User{T: t, G: w.WithT, Client: w.harvester}
		integration.Update(harvesterUser, w.vm(infra), integration.Whole, func(vm *kubevirtv1.VirtualMachine) { vm.Spec.RunStrategy = ptr.To(wanted) })
	}
	strategy(kubevirtv1.RunStrategyHalted)
	w.Expect(w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.VMNotRunningReason)).NotTo(BeEmpty())
	w.Expect(conditions.IsFalse(w.latest(infra), infrav1.InfrastructureReadyCondition)).To(BeTrue())
	strategy(kubevirtv1.RunStrategyAlways)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureReadyReason)
	w.Expect(w.harvester.Delete(t.Context(), w.vm(infra))).To(Succeed())
	w.Expect(w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.MachineNotFoundReason)).To(ContainSubstring("delete the Machine"))
	w.Expect(w.latest(infra).Status.Ready).To(BeTrue(), "it stays provisioned")
}
