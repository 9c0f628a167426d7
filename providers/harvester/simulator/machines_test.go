// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inZone requires one of the zones.
func inZone(zones ...string) func(*kubevirtv1.VirtualMachine) {
	return func(vm *kubevirtv1.VirtualMachine) {
		vm.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones,
				}},
			}}},
		}}
	}
}

// apart requires the virtual machines of the app to be in different zones.
func apart(vm *kubevirtv1.VirtualMachine) {
	vm.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey:   corev1.LabelTopologyZone,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "test"}},
		}},
	}}
}

func TestHarvesterDeployment(t *testing.T) {
	s := newFixture(t)
	deployment := &appsv1.Deployment{}
	s.Expect(s.client.Get(t.Context(), client.ObjectKey{Namespace: "harvester-system", Name: "harvester"}, deployment)).To(Succeed())
	s.Expect(deployment.Status.Conditions).To(ContainElement(And(
		HaveField("Type", appsv1.DeploymentAvailable), HaveField("Status", corev1.ConditionTrue))))
}

func TestVirtualMachineRuns(t *testing.T) {
	s := newFixture(t)
	vm := s.create("vm")
	vm = s.waitForStatus(vm.Name, kubevirtv1.VirtualMachineStatusRunning)

	s.Eventually(func() bool { return s.vm(vm.Name).Status.Ready }).Should(BeTrue())
	s.Expect(vm.Status.Created).To(BeTrue())
	claim := &corev1.PersistentVolumeClaim{}
	s.Expect(s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "vm-disk-0"}, claim)).To(Succeed())
	s.Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound))
	vmi := s.waitForAddress("vm")
	s.Expect(metav1.IsControlledBy(vmi, vm)).To(BeTrue())
	s.Expect(vmi.Labels).To(HaveKeyWithValue("app", "test"))
	s.Expect(vmi.Labels).To(HaveKeyWithValue(kubevirtv1.NodeNameLabel, vmi.Status.NodeName))
	s.Expect(vmi.Annotations).To(HaveKeyWithValue("note", "copied"))
	s.Expect(vmi.Status.Phase).To(Equal(kubevirtv1.Running))
	s.Expect(vmi.Status.Interfaces).To(HaveLen(1))
	s.Expect(vmi.Status.Interfaces[0].IP).NotTo(BeEmpty())
	s.Expect(vmi.Status.Interfaces[0].MAC).NotTo(BeEmpty())
}

func TestNewVirtualMachineIsStopped(t *testing.T) {
	s := newFixture(t)
	changes, err := s.client.Watch(t.Context(), &kubevirtv1.VirtualMachineList{}, client.InNamespace(s.namespace))
	s.Expect(err).NotTo(HaveOccurred())
	defer changes.Stop()
	s.create("vm")
	var statuses []kubevirtv1.VirtualMachinePrintableStatus
	for event := range changes.ResultChan() {
		vm, ok := event.Object.(*kubevirtv1.VirtualMachine)
		s.Expect(ok).To(BeTrue())
		if statuses = append(statuses, vm.Status.PrintableStatus); vm.Status.PrintableStatus == kubevirtv1.VirtualMachineStatusRunning {
			break
		}
	}
	statuses = slices.DeleteFunc(statuses, func(status kubevirtv1.VirtualMachinePrintableStatus) bool { return status == "" })
	s.Expect(statuses[0]).To(Equal(kubevirtv1.VirtualMachineStatusStopped))
}

func TestSchedulerHonorsZone(t *testing.T) {
	s := newFixture(t)
	for i := range 3 {
		zone := fmt.Sprintf("zone-%d", i+1)
		s.create(zone, inZone(zone))
	}
	for i := range 3 {
		zone := fmt.Sprintf("zone-%d", i+1)
		s.waitForStatus(zone, kubevirtv1.VirtualMachineStatusRunning)
		s.Expect(s.zone(zone)).To(Equal(zone))
	}
}

func TestSchedulerHonorsAntiAffinity(t *testing.T) {
	s := newFixture(t)
	var zones []string
	for i := range 3 {
		name := fmt.Sprintf("vm-%d", i)
		s.create(name, apart)
		s.waitForStatus(name, kubevirtv1.VirtualMachineStatusRunning)
		zones = append(zones, s.zone(name))
	}
	s.Expect(zones).To(ConsistOf("zone-1", "zone-2", "zone-3"))

	s.create("one-too-many", apart)
	vm := s.unschedulable("one-too-many")
	s.Expect(vm.Status.Ready).To(BeFalse())
	s.Expect(vm.Status.Conditions).To(ContainElement(SatisfyAll(
		HaveField("Type", kubevirtv1.VirtualMachineConditionType(corev1.PodScheduled)), HaveField("Status", corev1.ConditionFalse),
	)))
	s.Eventually(s.podConditions("one-too-many")).Should(ContainElement(SatisfyAll(HaveField("Type", corev1.PodScheduled),
		HaveField("Status", corev1.ConditionFalse), HaveField("Message", ContainSubstring("anti-affinity")),
	)))
}

func TestDeletedVirtualMachineKeepsVolumes(t *testing.T) {
	s := newFixture(t)
	vm := s.create("vm")
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusRunning)
	s.Expect(s.client.Delete(t.Context(), vm)).To(Succeed())
	s.Eventually(func() error { return s.client.Get(t.Context(), client.ObjectKeyFromObject(vm), vm) }).
		Should(MatchError(ContainSubstring("not found")))
	instances, pods := &kubevirtv1.VirtualMachineInstanceList{}, &corev1.PodList{}
	s.Expect(s.client.List(t.Context(), instances, client.InNamespace(s.namespace))).To(Succeed())
	s.Expect(s.client.List(t.Context(), pods, client.InNamespace(s.namespace))).To(Succeed())
	s.Expect(instances.Items).To(BeEmpty())
	s.Expect(pods.Items).To(BeEmpty())
	claim := &corev1.PersistentVolumeClaim{}
	s.Expect(s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "vm-disk-0"}, claim)).To(Succeed())

	s.Expect(s.client.Delete(t.Context(), claim)).To(Succeed())
	s.Eventually(func() error { return s.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim) }).
		Should(MatchError(ContainSubstring("not found")))
}
