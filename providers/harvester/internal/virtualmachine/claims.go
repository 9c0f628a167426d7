// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// legacyDiskInfix follows the name of the virtual machine in the names of disks that were created before Faultline.
const legacyDiskInfix = "-disk-"

// KnownClaims returns the names of the machine's disks as its metadata records them or, without a record, as they derive from its spec.
func KnownClaims(machine *infrav1.HarvesterMachine) []string {
	if recorded := machine.Annotations[infrav1.VolumesAnnotation]; recorded != "" {
		return strings.Split(recorded, ",")
	}
	return derivedClaims(machine)
}

// NameDerivesFromID reports whether the claim's name derives from the machine's id, as those of Faultline do.
func NameDerivesFromID(machine *infrav1.HarvesterMachine, claim string) bool {
	return slices.Contains(derivedClaims(machine), claim)
}

func derivedClaims(machine *infrav1.HarvesterMachine) (names []string) {
	id := machine.Annotations[infrav1.MachineIDAnnotation]
	if id == "" {
		return nil
	}
	for i := range machine.Spec.Volumes {
		names = append(names, ClaimName(Name(machine), id, i))
	}
	return names
}

// Disks returns the claims that a virtual machine boots with.
func Disks(vm *kubevirtv1.VirtualMachine) []string {
	return claimsOf(vm, func(claim *kubevirtv1.PersistentVolumeClaimVolumeSource) bool { return !claim.Hotpluggable })
}

// HotPlugged returns the claims that were hot-plugged into a virtual machine. They are volumes of workloads in the guest cluster and are
// unplugged again.
func HotPlugged(vm *kubevirtv1.VirtualMachine) []string {
	return claimsOf(vm, func(claim *kubevirtv1.PersistentVolumeClaimVolumeSource) bool { return claim.Hotpluggable })
}

func claimsOf(vm *kubevirtv1.VirtualMachine, which func(*kubevirtv1.PersistentVolumeClaimVolumeSource) bool) (names []string) {
	if vm.Spec.Template == nil {
		return nil
	}
	for i := range vm.Spec.Template.Spec.Volumes {
		if claim := vm.Spec.Template.Spec.Volumes[i].PersistentVolumeClaim; claim != nil && which(claim) {
			names = append(names, claim.ClaimName)
		}
	}
	return names
}

// CreatedFor reports whether a claim was created for a virtual machine from before Faultline: Harvester creates it from a claim template,
// or its name follows the former pattern. A user may have attached any other claim.
func CreatedFor(vm *kubevirtv1.VirtualMachine, claim string) bool {
	return slices.Contains(claimTemplates(vm), claim) || strings.HasPrefix(claim, vm.Name+legacyDiskInfix)
}

// claimTemplates returns the names of the claims that Harvester creates for a virtual machine; none if the annotation is invalid.
func claimTemplates(vm *kubevirtv1.VirtualMachine) (names []string) {
	var templates []corev1.PersistentVolumeClaim
	if json.Unmarshal([]byte(vm.Annotations[infrav1.VolumeClaimTemplatesAnnotation]), &templates) != nil {
		return nil
	}
	for i := range templates {
		names = append(names, templates[i].Name)
	}
	return names
}
