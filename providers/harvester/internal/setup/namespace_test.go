// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

func TestNamespaceDeletionLeavesNoMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, 2)
	cluster := w.cluster("c", withLoadBalancer)
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNoBackendMachineReason)
	machine, worker := w.machine("c", "cp", zoneName(1), controlPlane), w.machine("c", "worker", zoneName(1))
	w.waitForProvisioned(machine)
	w.waitForProvisioned(worker)
	vm := &kubevirtv1.VirtualMachine{}
	vm.Namespace, vm.Name = w.name, machine.Name
	updateOnHarvester(w, vm, func(vm *kubevirtv1.VirtualMachine) { controllerutil.AddFinalizer(vm, "example.com/in-the-way") })

	deletion := w.user().DeleteNamespace(apiServer, w.name)
	w.waitForDeletion(w.client, worker)
	w.Expect(w.waitForReason(machine, infrav1.VMRunningCondition, infrav1.DeletingReason)).To(ContainSubstring("Waiting for VirtualMachine " + w.name + "/" + machine.Name))
	w.Expect(w.waitForReason(cluster, infrav1.InfrastructureReadyCondition, infrav1.WaitingForMachinesReason)).To(ContainSubstring("HarvesterMachine " + machine.Name))

	updateOnHarvester(w, vm, func(vm *kubevirtv1.VirtualMachine) { controllerutil.RemoveFinalizer(vm, "example.com/in-the-way") })
	deletion.Ends()
	for _, list := range []client.ObjectList{
		&kubevirtv1.VirtualMachineList{}, &kubevirtv1.VirtualMachineInstanceList{}, &corev1.PersistentVolumeClaimList{}, &lbv1.LoadBalancerList{},
	} {
		w.Eventually(func(g Gomega) { // objects that Harvester created are garbage-collected
			g.Expect(w.harvester.List(t.Context(), list, client.InNamespace(w.name))).To(Succeed())
			g.Expect(list).To(HaveField("Items", BeEmpty()))
		}).Should(Succeed())
	}
}

func TestIdentitySecretIsKeptWhileUsed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, 1)
	one, two, three := w.cluster("one"), w.cluster("two"), w.cluster("three")
	other, identity := &corev1.Secret{ObjectMeta: w.meta("other"), Data: map[string][]byte{infrav1.KubeconfigKey: w.sim.Kubeconfig()}}, &corev1.Secret{ObjectMeta: w.meta("identity")}
	w.create(other)
	kept := func(secret *corev1.Secret) {
		t.Helper()
		w.Eventually(func(g Gomega) {
			g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
			g.Expect(secret.Finalizers).To(ConsistOf(infrav1.IdentitySecretFinalizer))
		}).Should(Succeed())
	}
	kept(identity)
	w.Expect(other.Finalizers).To(BeEmpty())
	w.Expect(w.client.Delete(t.Context(), identity)).To(Succeed())
	for _, cluster := range []*infrav1.HarvesterCluster{one, two} {
		w.Expect(w.client.Delete(t.Context(), cluster)).To(Succeed())
		w.waitForDeletion(w.client, cluster)
	}
	kept(identity)
	update(w, three, func(three *infrav1.HarvesterCluster) { three.Spec.IdentitySecret.Name = "other" })
	w.waitForDeletion(w.client, identity)
	kept(other)
}
