// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

const (
	// nameLimit is that of a hostname.
	nameLimit = 63
	// idInName is how much of a machine's id tells its name from that of another.
	idInName = 8
)

// Name is what the machine is called on Harvester: its virtual machine, what that boots from, and the guest, so its Node too. It is the
// machine's own name unless another was noted, because that was taken.
func Name(machine *infrav1.HarvesterMachine) string {
	return cmp.Or(machine.Annotations[infrav1.VirtualMachineNameAnnotation], machine.Name)
}

// NameApart is a name that follows from the id of the machine, which it must have, and that no other machine has.
func NameApart(machine *infrav1.HarvesterMachine) string {
	id := machine.Annotations[infrav1.MachineIDAnnotation]
	return beforeID(machine.Name) + id[:min(idInName, len(id))]
}

// beforeID is what comes before the id in a name that follows from it.
func beforeID(machine string) string {
	return strings.TrimRight(machine[:min(nameLimit-1-idInName, len(machine))], "-.") + "-"
}

// Copied reports whether an object that is called as its virtual machine has the marks of a HarvesterMachine and is not called as that one's: Harvester
// gives clones the labels and annotations of the template.
func Copied(o metav1.Object) bool {
	_, machine, owned := infrav1.ParseOwner(o.GetAnnotations()[infrav1.OwnerAnnotation])
	if o.GetLabels()[infrav1.MachineIDLabel] == "" || !owned || o.GetName() == machine {
		return false
	}
	id, apart := strings.CutPrefix(o.GetName(), beforeID(machine))
	return !apart || len(id) != idInName || strings.Trim(id, "0123456789abcdef") != ""
}

// OfAnotherMachine reports whether a virtual machine that is not the machine's is that of another HarvesterMachine for certain: it has the id
// of one, or was made before Faultline for another Cluster than the machine's. One that was made then for a Cluster of that name may be the
// machine's own, of which that was not noted.
func OfAnotherMachine(vm *kubevirtv1.VirtualMachine, cluster string) bool {
	if vm.Labels[infrav1.MachineIDLabel] != "" {
		return true
	}
	if vm.Spec.Template == nil {
		return false
	}
	of, former := strings.CutPrefix(vm.Spec.Template.ObjectMeta.Annotations[infrav1.MachineTypeLabel], infrav1.MachineTypeControlPlanePrefix)
	return former && of != cluster
}
