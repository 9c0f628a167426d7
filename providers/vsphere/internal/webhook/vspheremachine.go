// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

const (
	// onlyDatacenter stands for the only datacenter of a vCenter.
	onlyDatacenter = "*"

	// providerIDScheme is the prefix of every providerID.
	providerIDScheme = "vsphere://"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vspheremachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines,verbs=create;update,versions=v1beta2,name=validation.vspheremachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-vspheremachine,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines,verbs=create;update,versions=v1beta2,name=default.vspheremachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// defaultMachine sets the datacenter of a machine without one to the only datacenter.
func defaultMachine(_ context.Context, machine *infrav1.VSphereMachine) error {
	machine.Spec.Datacenter = cmp.Or(machine.Spec.Datacenter, onlyDatacenter)
	return nil
}

// changeMachine rejects changes to immutable fields. The power-off settings and the thumbprint of the server may change, and
// addresses may be added to network cards. Applying the default to an old object is not a change.
func changeMachine(before, after *infrav1.VSphereMachine) field.ErrorList {
	was := before.Spec
	was.Datacenter = cmp.Or(was.Datacenter, onlyDatacenter)
	return rules.Changed(&was, &after.Spec, field.NewPath("spec"),
		"change the VSphereMachineTemplate to replace the machine",
		"providerID", "thumbprint", "powerOffMode", "guestSoftPowerOffTimeoutSeconds", "network.devices")
}

func validateMachineObject(machine *infrav1.VSphereMachine) field.ErrorList {
	return validateMachine(machine.Spec, field.NewPath("spec"))
}

// validateMachine validates a machine, on its own or in a template.
func validateMachine(spec infrav1.VSphereMachineSpec, path *field.Path) field.ErrorList {
	errs := validateClone(spec.VirtualMachineCloneSpec, path)
	errs = append(errs, validatePowerOff(spec.PowerOffMode, spec.GuestSoftPowerOffTimeoutSeconds, path)...)
	errs = append(errs, validateNaming(spec.Naming, path.Child("naming"))...)
	if id := spec.ProviderID; id != "" && !strings.HasPrefix(id, providerIDScheme) {
		errs = append(errs, field.Invalid(path.Child("providerID"), id,
			"must be "+providerIDScheme+" and the BIOS UUID of the virtual machine; remove it to have the controller set it"))
	}
	return errs
}

// warnMachine warns about valid settings that have surprising effects.
func warnMachine(spec infrav1.VSphereMachineSpec, path *field.Path) admission.Warnings {
	warnings := warnClone(spec.VirtualMachineCloneSpec, path)
	warnings = append(warnings, warnNetwork(spec.Network, path.Child("network"))...)
	return append(warnings, warnNaming(spec.Naming, path.Child("naming"))...)
}
