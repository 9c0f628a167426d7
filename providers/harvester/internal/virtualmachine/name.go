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
	// nameLimit is the maximum length of a hostname.
	nameLimit = 63
	// idInName is how many characters of a machine's id distinguish its name.
	idInName = 8
)

// Name returns the machine's name on Harvester: that of its virtual machine, of the guest and so of its Node. It is the machine's
// own name unless another one was recorded because that was taken.
func Name(machine *infrav1.HarvesterMachine) string {
	return cmp.Or(machine.Annotations[infrav1.VirtualMachineNameAnnotation], machine.Name)
}

// UniqueName returns a unique name that derives from the machine's id. The machine must have an id.
func UniqueName(machine *infrav1.HarvesterMachine) string {
	id := machine.Annotations[infrav1.MachineIDAnnotation]
	return beforeID(machine.Name) + id[:min(idInName, len(id))]
}

// beforeID returns the part before the id in such a name.
func beforeID(machine string) string {
	return strings.TrimRight(machine[:min(nameLimit-1-idInName, len(machine))], "-.") + "-"
}

// Copied reports whether an object that has the name of its virtual machine carries the marks of a HarvesterMachine but not its name:
// Harvester copies the labels and annotations of the template to clones.
func Copied(o metav1.Object) bool {
	_, machine, owned := infrav1.ParseOwner(o.GetAnnotations()[infrav1.OwnerAnnotation])
	if o.GetLabels()[infrav1.MachineIDLabel] == "" || !owned || o.GetName() == machine {
		return false
	}
	id, apart := strings.CutPrefix(o.GetName(), beforeID(machine))
	return !apart || len(id) != idInName || strings.Trim(id, "0123456789abcdef") != ""
}

// BelongsToAnotherMachine reports whether a virtual machine certainly belongs to another HarvesterMachine: it has another
// machine's id, or was created before Faultline for a Cluster with another name. If the Cluster's name is the same, it may be the
// machine's own virtual machine whose creation was not recorded. The caller must know that the virtual machine is not marked as
// the machine's own.
func BelongsToAnotherMachine(vm *kubevirtv1.VirtualMachine, cluster string) bool {
	if vm.Labels[infrav1.MachineIDLabel] != "" {
		return true
	}
	if vm.Spec.Template == nil {
		return false
	}
	of, former := strings.CutPrefix(vm.Spec.Template.ObjectMeta.Annotations[infrav1.MachineTypeLabel], infrav1.MachineTypeControlPlanePrefix)
	return former && of != cluster
}
