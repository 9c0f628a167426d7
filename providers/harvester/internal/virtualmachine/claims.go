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

// formerDisk follows the name of a virtual machine in the names of disks that were made for it before Faultline.
const formerDisk = "-disk-"

// KnownClaims names the claims that are the machine's disks, as far as the machine says so itself: those that were noted, else those that the
// provider makes for its spec.
func KnownClaims(machine *infrav1.HarvesterMachine) []string {
	if noted := machine.Annotations[infrav1.VolumesAnnotation]; noted != "" {
		return strings.Split(noted, ",")
	}
	return madeClaims(machine)
}

// Made reports whether a claim has a name that the provider gives: the machine's id is in it.
func Made(machine *infrav1.HarvesterMachine, claim string) bool {
	return slices.Contains(madeClaims(machine), claim)
}

func madeClaims(machine *infrav1.HarvesterMachine) (names []string) {
	id := machine.Annotations[infrav1.MachineIDAnnotation]
	if id == "" {
		return nil
	}
	for i := range machine.Spec.Volumes {
		names = append(names, ClaimName(Name(machine), id, i))
	}
	return names
}

// Disks are the claims that a virtual machine boots with.
func Disks(vm *kubevirtv1.VirtualMachine) []string {
	return claimsOf(vm, func(claim *kubevirtv1.PersistentVolumeClaimVolumeSource) bool { return !claim.Hotpluggable })
}

// Plugged are the claims that were plugged into a virtual machine while it ran. They are volumes of what runs in the guest cluster, and
// leave the virtual machine again.
func Plugged(vm *kubevirtv1.VirtualMachine) []string {
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

// MadeFor reports whether a claim of a virtual machine that was made before Faultline was made for it: Harvester makes it, or it is called as such
// claims were. A person may have added any other.
func MadeFor(vm *kubevirtv1.VirtualMachine, claim string) bool {
	return slices.Contains(claimTemplates(vm), claim) || strings.HasPrefix(claim, vm.Name+formerDisk)
}

// claimTemplates names the claims that Harvester makes for a virtual machine. What cannot be read names none.
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
