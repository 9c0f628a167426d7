// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachine says what a virtual machine is to be made of, whose one is, and what is wrong with it. It only computes.
package virtualmachine

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// Candidate is a virtual machine that may be a VSphereVM's.
type Candidate struct {
	vcenter.VM
	// Booted says that it was made with the bootstrap data of the VSphereVM.
	Booted bool
}

// Verdict is what can be said of candidates. At most one of its fields is set.
type Verdict struct {
	Ours *vcenter.VM
	// Rivals are several, of which nothing tells which is the VSphereVM's.
	Rivals []vcenter.VM
	// Strangers have its BIOS UUID or its reference, and nothing that shows that they are the VSphereVM's.
	Strangers []vcenter.VM
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

// Identify is the rule by which a virtual machine is a VSphereVM's; nothing else may be powered on, changed or deleted. The
// strongest evidence decides. Several with the same: the one that is recorded, else none.
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

// Marker is the line in a virtual machine's notes that says whose it is.
func Marker(vm *infrav1.VSphereVM) string {
	return fmt.Sprintf("VSphereVM %s/%s", vm.Namespace, vm.Name)
}

// Unproven returns those of the strangers that bootstrap data can tell more about.
func (v Verdict) Unproven(vm *infrav1.VSphereVM) []vcenter.VM {
	if vm.Status.VMRef != "" || vm.Spec.BiosUUID == "" || vm.Spec.BootstrapRef.Name == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Strangers), func(c vcenter.VM) bool { return othersMark(c.Annotation) })
}

// Marks returns the lines of notes that name VSphereVMs: all of them that a controller looks at.
func Marks(notes string) string {
	lines := strings.Split(notes, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "VSphereVM ") }), "\n")
}

// othersMark reports whether notes name a VSphereVM. It is asked about strangers, so it is another one.
func othersMark(notes string) bool { return Marks(notes) != "" }

// Paths names virtual machines to people.
func Paths(vms []vcenter.VM) string {
	names := make([]string, len(vms))
	for i := range vms {
		names[i] = fmt.Sprintf("%s (%s)", vms[i].Path, vms[i].Ref)
	}
	return strings.Join(names, ", ")
}

// Proven reports whether anything shows that a virtual machine is the VSphereVM's.
func Proven(vm *infrav1.VSphereVM, of vcenter.VM) bool { return weigh(vm, Candidate{VM: of}) > none }
