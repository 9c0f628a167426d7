// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// candidate is a virtual machine that may be a VSphereVM's.
type candidate struct {
	vcenter.VM
	// booted says that it was made with the bootstrap data of the VSphereVM.
	booted bool
}

// verdict is what can be said of candidates. At most one of its fields is set.
type verdict struct {
	ours *vcenter.VM
	// rivals are several, of which nothing tells which is the VSphereVM's.
	rivals []vcenter.VM
	// strangers have its BIOS UUID or its reference, and nothing that shows that they are the VSphereVM's.
	strangers []vcenter.VM
}

// evidence is what ties a virtual machine to a VSphereVM, the stronger the greater.
type evidence int

const (
	// none: a BIOS UUID proves nothing. Copies share it, and anybody who may create a VSphereVM can write it into one.
	none evidence = iota
	// marked: nothing is recorded, as after a move to another management cluster, which takes neither the UID nor the status
	// along; and besides the BIOS UUID it has what only the maker of the machine can have put there: notes with the
	// VSphereVM's name, or the bootstrap data of the VSphereVM's Secret. Machines of Cluster API Provider vSphere have no
	// such notes.
	marked
	// recorded: it is status.vmRef, and nothing about it says otherwise. vCenter restored from a backup uses references anew.
	recorded
	// made: its instance UUID, which vCenter keeps unique, is the UID that the VSphereVM was cloned with.
	made
)

// identify is the rule by which a virtual machine is a VSphereVM's; nothing else may be powered on, changed or deleted. The
// strongest evidence decides. Several with the same: the one that is recorded, else none.
func identify(vm *infrav1.VSphereVM, candidates []candidate) verdict {
	for strength := made; strength > none; strength-- {
		var alike []vcenter.VM
		for _, c := range candidates {
			if weigh(vm, c) == strength {
				alike = append(alike, c.VM)
			}
		}
		if known := slices.IndexFunc(alike, func(c vcenter.VM) bool { return c.Ref == vm.Status.VMRef }); known >= 0 {
			return verdict{ours: &alike[known]}
		}
		switch len(alike) {
		case 0:
		case 1:
			return verdict{ours: &alike[0]}
		default:
			return verdict{rivals: alike}
		}
	}
	var strangers []vcenter.VM
	for _, c := range candidates {
		strangers = append(strangers, c.VM)
	}
	return verdict{strangers: strangers}
}

func weigh(vm *infrav1.VSphereVM, c candidate) evidence {
	sameBIOS := vm.Spec.BiosUUID != "" && strings.EqualFold(c.BiosUUID, vm.Spec.BiosUUID)
	named := slices.Contains(strings.Split(c.Annotation, "\n"), marker(vm))
	switch {
	case strings.EqualFold(c.InstanceUUID, string(vm.UID)):
		return made
	case c.Ref == vm.Status.VMRef && (sameBIOS || named || !c.Whole()):
		return recorded
	case vm.Status.VMRef == "" && sameBIOS && (named || c.booted):
		return marked
	default:
		return none
	}
}

// marker is the line in a virtual machine's notes that says whose it is.
func marker(vm *infrav1.VSphereVM) string {
	return fmt.Sprintf("VSphereVM %s/%s", vm.Namespace, vm.Name)
}

// unproven returns those of the strangers that bootstrap data can tell more about.
func (v verdict) unproven(vm *infrav1.VSphereVM) []vcenter.VM {
	if vm.Status.VMRef != "" || vm.Spec.BiosUUID == "" || vm.Spec.BootstrapRef.Name == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.strangers), func(c vcenter.VM) bool { return othersMark(c.Annotation) })
}

// Marks returns the lines of notes that name VSphereVMs: all of them that a controller looks at.
func Marks(notes string) string {
	lines := strings.Split(notes, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "VSphereVM ") }), "\n")
}

// othersMark reports whether notes name a VSphereVM. It is asked about strangers, so it is another one.
func othersMark(notes string) bool { return Marks(notes) != "" }

// paths names virtual machines to people.
func paths(vms []vcenter.VM) string {
	names := make([]string, len(vms))
	for i := range vms {
		names[i] = fmt.Sprintf("%s (%s)", vms[i].Path, vms[i].Ref)
	}
	return strings.Join(names, ", ")
}
