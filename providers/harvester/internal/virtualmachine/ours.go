// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// Ours reports whether the virtual machine is the HarvesterMachine's: it has the machine's id, or it is the one whose UID the machine
// has in its provider ID. A name proves nothing, because management clusters may share a namespace of Harvester.
func Ours(vm *kubevirtv1.VirtualMachine, machine *infrav1.HarvesterMachine) bool {
	return marked(vm, machine) || vm.UID != "" && machine.Spec.ProviderID == ProviderID(vm)
}

// Unmarked reports whether a virtual machine that is the machine's lacks the machine's id: it was made before Faultline.
func Unmarked(vm *kubevirtv1.VirtualMachine, machine *infrav1.HarvesterMachine) bool {
	return Ours(vm, machine) && !marked(vm, machine)
}

func marked(vm *kubevirtv1.VirtualMachine, machine *infrav1.HarvesterMachine) bool {
	id := machine.Annotations[infrav1.MachineIDAnnotation]
	return id != "" && vm.Labels[infrav1.MachineIDLabel] == id
}

// ProviderID is that of the virtual machine's Node.
func ProviderID(vm *kubevirtv1.VirtualMachine) string {
	return infrav1.ProviderIDPrefix + string(vm.UID)
}
