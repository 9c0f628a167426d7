// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachine decides which virtual machine belongs to a VSphereVM, how it is created, with
// which addresses of pools, and what is wrong with it. Its functions are pure.
package virtualmachine

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// Candidate is a virtual machine that may belong to a VSphereVM.
type Candidate struct {
	vcenter.VM
	// Booted is true if it was created with the bootstrap data of the VSphereVM.
	Booted bool
}

// Verdict is the result of Identify. At most one of its fields is set.
type Verdict struct {
	Ours *vcenter.VM
	// Rivals are several candidates with equal evidence.
	Rivals []vcenter.VM
	// Strangers have the BIOS UUID or the reference of the VSphereVM, but no evidence that they belong to it.
	Strangers []vcenter.VM
}

// evidence is the strength of the link between a virtual machine and a VSphereVM, in increasing order.
type evidence int

const (
	// none: a BIOS UUID proves nothing. Copies share it, and any user who may create a VSphereVM can write it into one.
	none evidence = iota
	// marked: nothing is recorded, as after a move to another management cluster, which preserves neither UID nor status. In
	// addition to the BIOS UUID, the machine has what only its creator can have set: notes with the VSphereVM's name, or the
	// bootstrap data from the VSphereVM's Secret. Machines of Cluster API Provider vSphere have no such notes.
	marked
	// recorded: it is the machine in status.vmRef, and nothing contradicts that. A vCenter restored from a backup reuses
	// references.
	recorded
	// made: its instance UUID, which vCenter keeps unique, is the UID with which the VSphereVM was cloned.
	made
)

// Identify decides which virtual machine belongs to a VSphereVM; no other one may be powered on, changed or deleted. The
// strongest evidence decides. Among several with equal evidence it is the recorded one, else none.
func Identify(vm *infrav1.VSphereVM, candidates []Candidate) Verdict {
	for strength := made; strength > none; strength-- {
		var alike []vcenter.VM
		for _, c := range candidates {
			if weigh(vm, c) == strength {
				alike = append(alike, c.VM)
			}
		}
		if known := slices.IndexFunc(alike, func(c vcenter.VM) bool { return c.Ref == vm.Status.VMRef }); known >= 0 {
			return Verdict{Ours: &alike[known]}
		}
		switch len(alike) {
		case 0:
		case 1:
			return Verdict{Ours: &alike[0]}
		default:
			return Verdict{Rivals: alike}
		}
	}
	var strangers []vcenter.VM
	for _, c := range candidates {
		strangers = append(strangers, c.VM)
	}
	return Verdict{Strangers: strangers}
}

func weigh(vm *infrav1.VSphereVM, c Candidate) evidence {
	sameBIOS := vm.Spec.BiosUUID != "" && strings.EqualFold(c.BiosUUID, vm.Spec.BiosUUID)
	named := slices.Contains(strings.Split(c.Annotation, "\n"), Marker(vm))
	switch {
	case strings.EqualFold(c.InstanceUUID, string(vm.UID)):
		return made
	case c.Ref == vm.Status.VMRef && (sameBIOS || named || !c.Whole()):
		return recorded
	case vm.Status.VMRef == "" && sameBIOS && (named || c.Booted):
		return marked
	default:
		return none
	}
}

// Marker returns the line in a virtual machine's notes that names its VSphereVM.
func Marker(vm *infrav1.VSphereVM) string {
	return fmt.Sprintf("VSphereVM %s/%s", vm.Namespace, vm.Name)
}

// Unproven returns the strangers for which comparing the bootstrap data can add evidence.
func (v Verdict) Unproven(vm *infrav1.VSphereVM) []vcenter.VM {
	if vm.Status.VMRef != "" || vm.Spec.BiosUUID == "" || vm.Spec.BootstrapRef.Name == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Strangers), func(c vcenter.VM) bool { return othersMark(c.Annotation) })
}

// Marks returns the lines of notes that name VSphereVMs, the only ones that controllers read.
func Marks(notes string) string {
	lines := strings.Split(notes, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "VSphereVM ") }), "\n")
}

// othersMark reports whether a stranger's notes name a VSphereVM, which is then another one.
func othersMark(notes string) bool { return Marks(notes) != "" }

// Paths returns virtual machines as text for messages.
func Paths(vms []vcenter.VM) string {
	names := make([]string, len(vms))
	for i := range vms {
		names[i] = fmt.Sprintf("%s (%s)", vms[i].Path, vms[i].Ref)
	}
	return strings.Join(names, ", ")
}

// Proven reports whether there is evidence that a virtual machine belongs to the VSphereVM.
func Proven(vm *infrav1.VSphereVM, of vcenter.VM) bool { return weigh(vm, Candidate{VM: of}) > none }
