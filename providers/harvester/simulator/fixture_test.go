// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// sim is shared by all tests; every test has its own namespace. It has the hosts of Zones(3, 2), and the real KubeVirt if it is
// set in the environment.
var sim *simulator.Simulator

func TestMain(m *testing.M) {
	simulator.Main(m, &sim, append(simulator.KubeVirtOf(os.Getenv), simulator.WithHooks(recordingHooks()))...)
}

// fixture is a test with its own namespace of the Harvester cluster.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.WithWatch
	namespace string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	s := &fixture{WithT: g, t: t, client: sim.Client()}
	s.namespace = integration.NewNamespace(t, s.client)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		g.Expect(s.client.DeleteAllOf(ctx, &kubevirtv1.VirtualMachine{}, client.InNamespace(s.namespace))).To(Succeed())
		g.Eventually(func() ([]kubevirtv1.VirtualMachine, error) {
			left := &kubevirtv1.VirtualMachineList{}
			err := s.client.List(ctx, left, client.InNamespace(s.namespace))
			return left.Items, err
		}).Should(BeEmpty(), "virtual machines are deleted")
	})
	return s
}

// virtualMachine returns a virtual machine with a disk and an interface.
func (s *fixture) virtualMachine(name string) *kubevirtv1.VirtualMachine {
	disk := name + "-disk-0"
	templates, err := json.Marshal([]corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: disk},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
		},
	}})
	s.Expect(err).NotTo(HaveOccurred())
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: name, Annotations: map[string]string{"harvesterhci.io/volumeClaimTemplates": string(templates)},
	}}
	vm.Spec.RunStrategy = ptr.To(kubevirtv1.RunStrategyAlways)
	vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "test"}, Annotations: map[string]string{"note": "copied"}},
	}
	spec := &vm.Spec.Template.Spec
	spec.Domain.CPU = &kubevirtv1.CPU{Cores: 2}
	spec.Domain.Memory = &kubevirtv1.Memory{Guest: ptr.To(resource.MustParse("4Gi"))}
	spec.Domain.Devices.Interfaces = []kubevirtv1.Interface{{
		Name: "nic-1", InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{Bridge: &kubevirtv1.InterfaceBridge{}},
	}}
	spec.Networks = []kubevirtv1.Network{{
		Name: "nic-1", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: "default/vlan-1"}},
	}}
	spec.Volumes = []kubevirtv1.Volume{{
		Name: "disk-0", VolumeSource: kubevirtv1.VolumeSource{PersistentVolumeClaim: &kubevirtv1.PersistentVolumeClaimVolumeSource{
			PersistentVolumeClaimVolumeSource: corev1.PersistentVolumeClaimVolumeSource{ClaimName: disk},
		}},
	}}
	spec.Domain.Devices.Disks = []kubevirtv1.Disk{{Name: "disk-0"}}
	return vm
}

// create creates a virtual machine after applying the changes.
func (s *fixture) create(name string, change ...func(*kubevirtv1.VirtualMachine)) *kubevirtv1.VirtualMachine {
	s.t.Helper()
	vm := s.virtualMachine(name)
	for _, each := range change {
		each(vm)
	}
	s.Expect(s.client.Create(s.t.Context(), vm)).To(Succeed())
	return vm
}

func (s *fixture) vm(name string) *kubevirtv1.VirtualMachine {
	vm := &kubevirtv1.VirtualMachine{}
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, vm)).To(Succeed())
	return vm
}

// waitForStatus waits for a virtual machine to have a status.
func (s *fixture) waitForStatus(name string, status kubevirtv1.VirtualMachinePrintableStatus) *kubevirtv1.VirtualMachine {
	s.t.Helper()
	s.Eventually(func() kubevirtv1.VirtualMachinePrintableStatus { return s.vm(name).Status.PrintableStatus }).Should(Equal(status), name)
	return s.vm(name)
}

// unschedulable waits until kube-scheduler finds no host for a virtual machine whose volumes are bound, and returns it.
func (s *fixture) unschedulable(name string) *kubevirtv1.VirtualMachine {
	s.t.Helper()
	s.waitForStatus(name, kubevirtv1.VirtualMachineStatusUnschedulable)
	s.Eventually(s.podConditions(name)).Should(ContainElement(And(HaveField("Type", corev1.PodScheduled), HaveField("Reason", corev1.PodReasonUnschedulable),
		HaveField("Message", Not(ContainSubstring("unbound"))))), name)
	return s.waitForStatus(name, kubevirtv1.VirtualMachineStatusUnschedulable)
}

// podConditions returns the conditions of a virtual machine's Pod, which has the latest reason of kube-scheduler, unlike the
// instance, which keeps the first.
func (s *fixture) podConditions(name string) func(Gomega) []corev1.PodCondition {
	return func(g Gomega) []corev1.PodCondition {
		pods := &corev1.PodList{}
		g.Expect(s.client.List(s.t.Context(), pods, client.InNamespace(s.namespace), client.MatchingLabels{kubevirtv1.CreatedByLabel: string(s.instance(name).UID)})).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
		return pods.Items[0].Status.Conditions
	}
}

// instance returns the instance of a virtual machine.
func (s *fixture) instance(name string) *kubevirtv1.VirtualMachineInstance {
	s.t.Helper()
	vmi := &kubevirtv1.VirtualMachineInstance{}
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, vmi)).To(Succeed())
	return vmi
}

// zone returns the zone of a virtual machine's host.
func (s *fixture) zone(name string) string {
	s.t.Helper()
	node := &corev1.Node{}
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Name: s.instance(name).Status.NodeName}, node)).To(Succeed())
	return node.Labels[corev1.LabelTopologyZone]
}
