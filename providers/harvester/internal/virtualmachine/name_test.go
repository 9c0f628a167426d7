// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
)

func TestUniqueName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"m1":                                 "m1-0a1b2c3d",
		strings.Repeat("m", 63):              strings.Repeat("m", 54) + "-0a1b2c3d",
		strings.Repeat("m", 53) + "-machine": strings.Repeat("m", 53) + "-0a1b2c3d",
	} {
		machine := &infrav1.HarvesterMachine{}
		machine.Name, machine.Annotations = name, map[string]string{infrav1.MachineIDAnnotation: machineID}
		g := NewWithT(t)
		g.Expect(virtualmachine.UniqueName(machine)).To(Equal(want))
		g.Expect(validation.IsDNS1123Label(want)).To(BeEmpty())
	}
}

func TestObjectNamesDeriveFromVirtualMachineName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input()
	in.Machine.Annotations = map[string]string{infrav1.VirtualMachineNameAnnotation: "m1-0a1b2c3d"}
	vm, secret := build(t, in)
	g.Expect(vm.Name).To(Equal("m1-0a1b2c3d"))
	g.Expect(secret.Name).To(Equal("m1-0a1b2c3d-cloud-init"))
	g.Expect(vm.Spec.Template.Spec.Hostname).To(Equal("m1-0a1b2c3d"), "cloud provider and CSI driver in the cluster find the virtual machine by the Node's name")
	g.Expect(vm.Labels).To(And(HaveKeyWithValue(infrav1.VMNameLabel, "m1-0a1b2c3d"), HaveKeyWithValue(infrav1.VMNamePrefixLabel, "m1-0a1b2c3d")))
	g.Expect(vm.Annotations[infrav1.VolumeClaimTemplatesAnnotation]).To(ContainSubstring(`"m1-0a1b2c3d-disk-0-`))
	g.Expect(vm.Spec.Template.Spec.Volumes[0].PersistentVolumeClaim.ClaimName).To(HavePrefix("m1-0a1b2c3d-disk-0-"))
	g.Expect(vm.Annotations).To(HaveKeyWithValue(infrav1.OwnerAnnotation, "ns/m1"), "its events enqueue the machine")
}

func TestBelongsToAnotherMachine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id, machineType string
		another         bool
	}{
		"another's id": {id: "other", another: true},
		"made before Faultline for another Cluster":  {machineType: "controlplane-c2", another: true},
		"made before Faultline for one of that name": {machineType: "controlplane-c1"},
		"a person's": {},
		"a person's, with a label that means nothing": {machineType: "worker"},
	} {
		vm := &kubevirtv1.VirtualMachine{}
		if tc.id != "" {
			vm.Labels = map[string]string{infrav1.MachineIDLabel: tc.id}
		}
		NewWithT(t).Expect(virtualmachine.BelongsToAnotherMachine(vm, "c1")).To(Equal(tc.id != ""), "it has no template")
		vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{}
		vm.Spec.Template.ObjectMeta.Annotations = map[string]string{infrav1.MachineTypeLabel: tc.machineType}
		NewWithT(t).Expect(virtualmachine.BelongsToAnotherMachine(vm, "c1")).To(Equal(tc.another), name)
	}
}

func TestCopied(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("m", 63)
	for name, tc := range map[string]struct {
		called, owner, id string
		copied            bool
	}{
		"the machine's":                     {called: "m1", owner: "ns/m1", id: machineID},
		"the machine's, which is apart":     {called: "m1-0123abcd", owner: "ns/m1", id: machineID},
		"the machine's, whose name is long": {called: long[:54] + "-0123abcd", owner: "ns/" + long, id: machineID},
		"a clone":                           {called: "m1-copy", owner: "ns/m1", id: machineID, copied: true},
		"a clone, as long as an id":         {called: "m1-rescued1", owner: "ns/m1", id: machineID, copied: true},
		"a clone with another name":         {called: "other", owner: "ns/m1", id: machineID, copied: true},
		"upstream's, which has no id":       {called: "other", owner: "ns/m1"},
		"no machine's":                      {called: "other"},
	} {
		vmi := &kubevirtv1.VirtualMachineInstance{}
		vmi.Name, vmi.Labels, vmi.Annotations = tc.called, map[string]string{infrav1.MachineIDLabel: tc.id}, map[string]string{infrav1.OwnerAnnotation: tc.owner}
		NewWithT(t).Expect(virtualmachine.Copied(vmi)).To(Equal(tc.copied), name)
	}
}
