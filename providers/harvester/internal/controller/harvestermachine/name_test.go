// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
)

// pair holds two clusters in separate management namespaces that share a namespace of Harvester. Each has a machine with the same name.
type pair struct {
	one, two      *fixture
	first, second *infrav1.HarvesterMachine
	stopTwo       func()
}

// newPair provisions the first cluster's machine and creates the second's.
func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{one: newFixture(t), two: newFixture(t)}
	p.two.updateCluster(func(infra *infrav1.HarvesterCluster) { infra.Spec.TargetNamespace = p.one.name })
	p.one.start()
	p.first = p.one.machine("a", "zone-1")
	p.one.waitForProvisioned(p.first)
	p.stopTwo = p.two.start()
	p.second = p.two.machineNamed(p.first.Name, "zone-1")
	return p
}

// virtualMachines returns the virtual machines in the shared namespace, by name.
func (p *pair) virtualMachines() map[string]kubevirtv1.VirtualMachine {
	p.one.t.Helper()
	found := map[string]kubevirtv1.VirtualMachine{}
	for _, vm := range p.one.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items {
		found[vm.Name] = vm
	}
	return found
}

// renamedVM verifies that the second machine's virtual machine has a different name than the first's, and returns it.
func (p *pair) renamedVM() kubevirtv1.VirtualMachine {
	p.one.t.Helper()
	now := p.two.latest(p.second)
	name := p.first.Name + "-" + now.Annotations[infrav1.MachineIDAnnotation][:8]
	p.two.Expect(p.virtualMachines()).To(And(HaveLen(2), HaveKey(p.first.Name), HaveKey(name)))
	vm := p.virtualMachines()[name]
	p.two.Expect(now.Spec.ProviderID).To(Equal(virtualmachine.ProviderID(&vm)))
	return vm
}

// Upstream selects machines by labels without a namespace. Clusters of the same name that share a namespace of Harvester select each
// other's virtual machines.
func TestD4MachinesOfSameNameInOneHarvesterNamespace(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.two.waitForProvisioned(p.second)
	vm := p.renamedVM()
	p.two.Eventually(func() string { return p.two.event(p.second, "NamedApart") }).Should(ContainSubstring(vm.Name))
	// The Node has the name of the virtual machine, because cloud provider and CSI driver find the virtual machine by it.
	p.two.join(vm.Name, "")
	p.two.waitForReason(p.second, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureReadyReason)
	p.two.Expect(p.two.node(vm.Name).Spec.ProviderID).To(Equal(virtualmachine.ProviderID(&vm)))

	p.two.delete(p.second)
	p.two.waitForDeletion(p.second)
	p.one.Eventually(p.virtualMachines).Should(And(HaveLen(1), HaveKey(p.first.Name)))
	p.one.Consistently(func() *metav1.Time { return p.one.vm(p.first).DeletionTimestamp }).Should(BeNil())
	p.one.Expect(p.one.claims()).To(HaveLen(1))
	p.one.delete(p.first)
	p.one.waitForDeletion(p.first)
	p.one.Eventually(p.virtualMachines).Should(BeEmpty())
	p.one.Eventually(p.one.claims).Should(BeEmpty())
	p.one.Expect(p.one.listOnHarvester(&corev1.SecretList{})).To(HaveField("Items", BeEmpty()))
}

func TestRecordedVirtualMachineNameIsKept(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.two.waitForProvisioned(p.second)
	vm := p.renamedVM()
	p.stopTwo()
	p.one.delete(p.first)
	p.one.waitForDeletion(p.first)
	// The manager died after creating the virtual machine and before recording it.
	p.two.update(p.second, func(now *infrav1.HarvesterMachine) { now.Spec.ProviderID = "" })
	p.two.updateStatus(p.second, func(now *infrav1.HarvesterMachine) { now.Status = infrav1.HarvesterMachineStatus{} })
	p.stopTwo = p.two.start()
	p.two.waitForProvisioned(p.second)
	p.two.Expect(p.two.latest(p.second).Spec.ProviderID).To(Equal(virtualmachine.ProviderID(&vm)))
	p.two.Expect(p.virtualMachines()).To(And(HaveLen(1), HaveKey(vm.Name)))

	// clusterctl move to another management cluster keeps metadata and spec, but not the status.
	p.stopTwo()
	moved := p.two.latest(p.second)
	p.two.update(p.second, func(now *infrav1.HarvesterMachine) { now.Finalizers = nil })
	p.two.delete(p.second)
	p.two.waitForDeletion(p.second)
	moved.ResourceVersion, moved.UID, moved.Status = "", "", infrav1.HarvesterMachineStatus{}
	p.two.create(moved)
	p.two.start()
	p.two.waitForProvisioned(p.second)
	p.two.Expect(p.virtualMachines()).To(And(HaveLen(1), HaveKey(vm.Name)))
	p.two.Expect(p.virtualMachines()[vm.Name].UID).To(Equal(vm.UID))
	p.two.delete(p.second)
	p.two.waitForDeletion(p.second)
	p.two.Eventually(p.virtualMachines).Should(BeEmpty())
}

// A virtual machine that upstream created keeps its name, even if another cluster's machine has the same one.
func TestNameConflictWithUpstreamVirtualMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	upstreams := func(name, cluster string) *kubevirtv1.VirtualMachine {
		vm := w.foreignVM(name)
		vm.Spec.Template.ObjectMeta.Annotations = map[string]string{infrav1.MachineTypeLabel: infrav1.MachineTypeControlPlanePrefix + cluster}
		w.Expect(w.harvester.Create(t.Context(), vm)).To(Succeed())
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: vm.Name + "-disk-0-abcde"}, Spec: claimSpec()}
		w.Expect(w.harvester.Create(t.Context(), claim)).To(Succeed())
		return vm
	}
	others, own, taken := upstreams("others", "another"), upstreams("own", w.name), upstreams("taken", w.name)
	w.start()
	apart, waits := w.machine("others", "zone-1"), w.machine("own", "zone-1")
	over := w.machine("taken", "zone-1", func(infra *infrav1.HarvesterMachine) { infra.Spec.ProviderID = virtualmachine.ProviderID(taken) })
	w.waitForReason(waits, infrav1.MachineCreatedCondition, infrav1.VirtualMachineNotOursReason)
	w.waitForProvisioned(apart)
	w.waitForProvisioned(over)
	w.Expect(w.latest(over).Annotations).NotTo(HaveKey(infrav1.VirtualMachineNameAnnotation))
	w.Expect(w.latest(waits).Annotations).NotTo(HaveKey(infrav1.VirtualMachineNameAnnotation))
	name := w.latest(apart).Annotations[infrav1.VirtualMachineNameAnnotation]
	w.Expect(name).To(HavePrefix(apart.Name + "-"))
	names := func() (names []string) {
		for _, vm := range w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items {
			names = append(names, vm.Name)
		}
		return names
	}
	w.Expect(names()).To(ConsistOf(others.Name, own.Name, taken.Name, name))
	for _, machine := range []*infrav1.HarvesterMachine{apart, waits, over} {
		w.delete(machine)
		w.waitForDeletion(machine)
	}
	w.Eventually(names).Should(ConsistOf(others.Name, own.Name))
}

// Both start at the same time: the machine whose Secret was created first gets the name.
func TestNameConflictWithSecretOfAnotherMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	name := w.name + "-a"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.name, Name: virtualmachine.SecretName(name), Labels: map[string]string{infrav1.MachineIDLabel: "another"},
	}}
	w.Expect(w.harvester.Create(t.Context(), secret)).To(Succeed())
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{})).To(HaveField("Items", HaveLen(1)))
	w.Expect(w.latest(infra).Annotations[infrav1.VirtualMachineNameAnnotation]).To(HavePrefix(name + "-"))
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
}
