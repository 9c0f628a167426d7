// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// BelongsTo reports whether the virtual machine belongs to the HarvesterMachine: it has the machine's marks, or its UID is in the
// machine's provider ID and it has no other machine's marks. A name is not proof, because management clusters may share a
// namespace of Harvester.
func BelongsTo(vm *kubevirtv1.VirtualMachine, machine *infrav1.HarvesterMachine) bool {
	return Marked(vm, machine) || vm.UID != "" && machine.Spec.ProviderID == ProviderID(vm) && !BelongsToAnother(vm, machine)
}

// Unmarked reports whether a virtual machine belongs to the machine but lacks its marks because it was created before Faultline.
func Unmarked(vm *kubevirtv1.VirtualMachine, machine *infrav1.HarvesterMachine) bool {
	return BelongsTo(vm, machine) && !Marked(vm, machine)
}

// Marked reports whether an object on Harvester has the machine's id and names the machine as its owner. The id alone is not proof:
// Harvester copies labels to clones and restored volumes, and a copy of the machine's YAML also has the id.
func Marked(o metav1.Object, machine *infrav1.HarvesterMachine) bool {
	id := machine.Annotations[infrav1.MachineIDAnnotation]
	return id != "" && o.GetLabels()[infrav1.MachineIDLabel] == id && o.GetAnnotations()[infrav1.OwnerAnnotation] == ownerOf(machine)
}

// IDOf returns the id in the machine's marks on its virtual machine, for a machine that may have lost the id; "" without marks.
func IDOf(vm *kubevirtv1.VirtualMachine, machine *infrav1.HarvesterMachine) string {
	if vm == nil || machine.Spec.ProviderID != ProviderID(vm) || vm.Annotations[infrav1.OwnerAnnotation] != ownerOf(machine) {
		return ""
	}
	return vm.Labels[infrav1.MachineIDLabel]
}

// BelongsToAnother reports whether an object's marks name another machine: another owner or, without an owner, another id.
func BelongsToAnother(o metav1.Object, machine *infrav1.HarvesterMachine) bool {
	if owner := o.GetAnnotations()[infrav1.OwnerAnnotation]; owner != "" {
		return owner != ownerOf(machine)
	}
	id := o.GetLabels()[infrav1.MachineIDLabel]
	return id != "" && id != machine.Annotations[infrav1.MachineIDAnnotation]
}

func ownerOf(machine *infrav1.HarvesterMachine) string {
	return infrav1.Owner(machine.Namespace, machine.Name)
}

// ProviderID returns the provider ID of the virtual machine's Node.
func ProviderID(vm *kubevirtv1.VirtualMachine) string {
	return infrav1.ProviderIDPrefix + string(vm.UID)
}
