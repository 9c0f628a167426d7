// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	netattv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
)

func TestClusterNetworkIsAddedToNodeAffinity(t *testing.T) {
	s := newFixture(t)
	vm := s.create("vm", inZone("zone-1"), func(vm *kubevirtv1.VirtualMachine) {
		terms := vm.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		terms.NodeSelectorTerms = append(terms.NodeSelectorTerms, terms.NodeSelectorTerms[0])
	})
	network := corev1.NodeSelectorRequirement{Key: "network.harvesterhci.io/mgmt", Operator: corev1.NodeSelectorOpIn, Values: []string{"true"}}
	zone := corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-1"}}
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{zone, network}}
	s.Expect(vm.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms).
		To(Equal([]corev1.NodeSelectorTerm{term, term}))
	s.waitForRunning("vm")
	s.Expect(s.zone("vm")).To(Equal("zone-1"))
}

func TestNodeAffinityTermsWithOnlyFieldsAreDropped(t *testing.T) {
	s := newFixture(t)
	vm := s.create("vm", inZone("zone-1"), func(vm *kubevirtv1.VirtualMachine) {
		vm.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-1-host-1"}}},
		}}
	})
	s.Expect(vm.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms).
		To(Equal([]corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "network.harvesterhci.io/mgmt", Operator: corev1.NodeSelectorOpIn, Values: []string{"true"}},
		}}}))
}

func TestKubeVirtDefaults(t *testing.T) {
	s := newFixture(t)
	vm := s.create("vm")
	domain := vm.Spec.Template.Spec.Domain
	s.Expect(vm.Spec.Template.Spec.Architecture).To(Equal("amd64"))
	s.Expect(domain.Machine.Type).To(Equal("q35"))
	s.Expect(domain.CPU.Model).To(BeEmpty(), "only the instance has it")
	s.Expect(domain.Firmware.UUID).NotTo(BeEmpty())
	s.Expect(vm.Finalizers).To(BeEmpty(), "virt-controller adds these")
	s.waitForRunning("vm")
	s.Expect(s.instance("vm").Spec.Domain.CPU.Model).To(Equal("host-model"))
}

func TestSchedulerHonorsClusterNetwork(t *testing.T) {
	s := newFixture(t)
	definition := &netattv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: "far", Labels: map[string]string{netattv1.ClusterNetworkLabel: "fibre"},
	}}
	s.Expect(s.client.Create(t.Context(), definition)).To(Succeed())
	s.create("vm", func(vm *kubevirtv1.VirtualMachine) {
		vm.Spec.Template.Spec.Networks[0].Multus.NetworkName = s.namespace + "/far"
	})
	s.unschedulable("vm")
	s.Expect(sim.Label(t.Context(), "zone-2-host-2", "network.harvesterhci.io/fibre", "true")).To(Succeed())
	s.Expect(s.waitForRunning("vm").Status.NodeName).To(Equal("zone-2-host-2"))
	s.Expect(sim.Label(t.Context(), "zone-2-host-2", "network.harvesterhci.io/fibre", "")).To(Succeed())
}

func TestOvercommit(t *testing.T) {
	s := newFixture(t)
	vm := s.create("vm", func(vm *kubevirtv1.VirtualMachine) {
		vm.Spec.Template.Spec.Domain.Resources.Limits = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("3Gi"),
		}
	})
	domain := vm.Spec.Template.Spec.Domain
	s.Expect(domain.Resources.Requests.Cpu().String()).To(Equal("125m"))
	s.Expect(domain.Resources.Requests.Memory().String()).To(Equal("2Gi"))
	s.Expect(domain.Memory.Guest.String()).To(Equal("2972Mi"))
}

func TestInvalidVirtualMachines(t *testing.T) {
	s := newFixture(t)
	for problem, change := range map[string]func(*kubevirtv1.VirtualMachine){
		"disks[0].Name 'disk-9' not found.": func(vm *kubevirtv1.VirtualMachine) {
			vm.Spec.Template.Spec.Domain.Devices.Disks[0].Name = "disk-9"
		},
		"interfaces[0].name 'nic-2' not found.": func(vm *kubevirtv1.VirtualMachine) {
			vm.Spec.Template.Spec.Domain.Devices.Interfaces[0].Name = "nic-2"
		},
		"networks[0].name 'nic-1' not found.": func(vm *kubevirtv1.VirtualMachine) {
			vm.Spec.Template.Spec.Domain.Devices.Interfaces = nil
		},
		"reading network default/nowhere": func(vm *kubevirtv1.VirtualMachine) {
			vm.Spec.Template.Spec.Networks[0].Multus.NetworkName = "default/nowhere"
		},
		"SecureBoot requires SMM": func(vm *kubevirtv1.VirtualMachine) {
			vm.Spec.Template.Spec.Domain.Firmware = &kubevirtv1.Firmware{Bootloader: &kubevirtv1.Bootloader{
				EFI: &kubevirtv1.EFI{SecureBoot: ptr.To(true)},
			}}
		},
	} {
		t.Run(problem, func(t *testing.T) {
			vm := s.virtualMachine("refused")
			change(vm)
			NewWithT(t).Expect(s.client.Create(t.Context(), vm)).To(MatchError(ContainSubstring(problem)))
		})
	}
}

func TestVolumeInUseIsProtected(t *testing.T) {
	s := newFixture(t)
	s.create("vm")
	s.waitForRunning("vm")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "vm-disk-0"}}
	refused := MatchError(ContainSubstring("currently attached to VMs"))
	s.Expect(s.client.Delete(t.Context(), claim)).To(refused)
	s.Expect(s.client.DeleteAllOf(t.Context(), claim, client.InNamespace(s.namespace))).To(refused, "as part of a collection")
}

func TestVirtualMachineWithoutVolume(t *testing.T) {
	s := newFixture(t)
	s.create("vm", func(vm *kubevirtv1.VirtualMachine) { vm.Annotations = nil })
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusPvcNotFound)
}

func TestStaticAddress(t *testing.T) {
	s := newFixture(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "vm-cloud-init"}, StringData: map[string]string{
		"userdata": "#cloud-config\n", "networkdata": `network:
  version: 1
  config:
  - type: physical
    name: enp1s0
    subnets: [{type: static, address: 10.1.2.3/24, gateway: 10.1.2.1}]
  - {type: nameserver, address: [10.1.2.1]}
`,
	}}
	s.Expect(s.client.Create(t.Context(), secret)).To(Succeed())
	s.create("vm", func(vm *kubevirtv1.VirtualMachine) {
		spec := &vm.Spec.Template.Spec
		spec.Volumes = append(spec.Volumes, kubevirtv1.Volume{Name: "cloud-init", VolumeSource: kubevirtv1.VolumeSource{
			CloudInitNoCloud: &kubevirtv1.CloudInitNoCloudSource{
				UserDataSecretRef: &corev1.LocalObjectReference{Name: secret.Name}, NetworkDataSecretRef: &corev1.LocalObjectReference{Name: secret.Name},
			},
		}})
		spec.Domain.Devices.Disks = append(spec.Domain.Devices.Disks, kubevirtv1.Disk{Name: "cloud-init"})
	})
	s.Expect(s.waitForAddress("vm").Status.Interfaces).To(ConsistOf(HaveField("IP", "10.1.2.3")))
}

func TestVolumeOfUnknownStorageClass(t *testing.T) {
	s := newFixture(t)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "disk"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To("later-" + s.namespace), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	s.Expect(s.client.Create(t.Context(), claim)).To(Succeed())
	phase := func() corev1.PersistentVolumeClaimPhase {
		s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		return claim.Status.Phase
	}
	s.Consistently(phase, "300ms").Should(Equal(corev1.ClaimPending))
}
