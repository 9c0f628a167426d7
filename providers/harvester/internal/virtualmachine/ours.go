// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// Ours reports whether the virtual machine is the HarvesterMachine's: it is marked as that, or it is the one whose UID the machine has in
// its provider ID, and nothing marks it as another's. A name proves nothing, because management clusters may share a namespace of Harvester.
func Ours(vm *kubevirtv1.VirtualMachine, machine *infrav1.HarvesterMachine) bool {
	return Marked(vm, machine) || vm.UID != "" && machine.Spec.ProviderID == ProviderID(vm) && !OfAnother(vm, machine)
}

// Unmarked reports whether a virtual machine that is the machine's lacks its marks: it was made before Faultline.
func Unmarked(vm *kubevirtv1.VirtualMachine, machine *infrav1.HarvesterMachine) bool {
	return Ours(vm, machine) && !Marked(vm, machine)
}

// Marked reports whether an object on Harvester has the machine's id and names the machine as its owner. The id alone proves nothing: Harvester
// copies labels to clones and restored volumes, and a copy of the machine's YAML has the id, too.
func Marked(o metav1.Object, machine *infrav1.HarvesterMachine) bool {
	id := machine.Annotations[infrav1.MachineIDAnnotation]
	return id != "" && o.GetLabels()[infrav1.MachineIDLabel] == id && o.GetAnnotations()[infrav1.OwnerAnnotation] == ownerOf(machine)
}

// IDOf is the id by which a virtual machine is marked as that of the machine, which may have lost it; "" when there is none.
func IDOf(vm *kubevirtv1.VirtualMachine, machine *infrav1.HarvesterMachine) string {
	if vm == nil || machine.Spec.ProviderID != ProviderID(vm) || vm.Annotations[infrav1.OwnerAnnotation] != ownerOf(machine) {
		return ""
	}
	return vm.Labels[infrav1.MachineIDLabel]
}

// OfAnother reports whether a mark of an object contradicts that it is the machine's: an owner that is another, else an id that is.
func OfAnother(o metav1.Object, machine *infrav1.HarvesterMachine) bool {
	if owner := o.GetAnnotations()[infrav1.OwnerAnnotation]; owner != "" {
		return owner != ownerOf(machine)
	}
	id := o.GetLabels()[infrav1.MachineIDLabel]
	return id != "" && id != machine.Annotations[infrav1.MachineIDAnnotation]
}

func ownerOf(machine *infrav1.HarvesterMachine) string {
	return infrav1.Owner(machine.Namespace, machine.Name)
}

// ProviderID is that of the virtual machine's Node.
func ProviderID(vm *kubevirtv1.VirtualMachine) string {
	return infrav1.ProviderIDPrefix + string(vm.UID)
}
