// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestMachineLifecycleInFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, 2)
	w.cluster("c")
	machine := w.machine("c", "m", zoneName(2), controlPlane)
	vmi := w.waitForProvisioned(machine)
	w.Expect(w.zoneOf(vmi)).To(Equal(zoneName(2)))
	w.Expect(machine.Status.FailureDomain).To(Equal(zoneName(2)))
	w.Expect(machine.Status.Addresses).To(ContainElement(clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: vmi.Status.Interfaces[0].IP}))
	vm := &kubevirtv1.VirtualMachine{}
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(vmi), vm)).To(Succeed())
	w.Expect(machine.Spec.ProviderID).To(Equal(infrav1.ProviderIDPrefix + string(vm.UID)))
	node := &corev1.Node{}
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKey{Name: machine.Name}, node)).To(Succeed())
		g.Expect(node.Spec.ProviderID).To(Equal(machine.Spec.ProviderID))
		g.Expect(node.Spec.Taints).NotTo(ContainElement(HaveField("Key", uninitialized)))
	}).Should(Succeed())

	w.remove(machine)
	for _, list := range []client.ObjectList{
		&kubevirtv1.VirtualMachineList{}, &kubevirtv1.VirtualMachineInstanceList{}, &corev1.PersistentVolumeClaimList{},
	} {
		w.Expect(w.harvester.List(t.Context(), list, client.InNamespace(w.name))).To(Succeed())
		w.Expect(list).To(HaveField("Items", BeEmpty()))
	}
	secrets := &corev1.SecretList{}
	w.Expect(w.harvester.List(t.Context(), secrets, client.InNamespace(w.name))).To(Succeed())
	for _, secret := range secrets.Items {
		w.Expect(strings.HasPrefix(secret.Name, machine.Name)).To(BeFalse(), secret.Name)
	}
}

func TestFailureDomainsAreZonesOfHosts(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, 1)
	w.host("nowhere", "")
	cluster := w.cluster("c")
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		g.Expect(cluster.Status.FailureDomains).To(ConsistOf(
			HaveField("Name", "zone-1"), HaveField("Name", "zone-2"), HaveField("Name", "zone-3")), "%s", integration.Describe(cluster))
		g.Expect(ptr.Deref(cluster.Status.Initialization.Provisioned, false)).To(BeTrue(), "%s", integration.Describe(cluster))
	}).Should(Succeed())
}
