// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vspherevm,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspherevms,verbs=create;update,versions=v1beta2,name=validation.vspherevm.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-vspherevm,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspherevms,verbs=create;update,versions=v1beta2,name=default.vspherevm.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// defaultVM sets the operating system of a guest to Linux if it is not set.
func defaultVM(_ context.Context, vm *infrav1.VSphereVM) error {
	vm.Spec.OS = cmp.Or(vm.Spec.OS, infrav1.Linux)
	return nil
}

// changeVM rejects changes to immutable fields. The fields for reaching, bootstrapping and powering off the virtual machine may
// change, and addresses may be added to network cards. Applying the default to an old object is not a change.
func changeVM(before, after *infrav1.VSphereVM) field.ErrorList {
	was := before.Spec
	was.OS = cmp.Or(was.OS, infrav1.Linux)
	mutable := []string{"bootstrapRef.name", "thumbprint", "powerOffMode", "guestSoftPowerOffTimeoutSeconds", "network.devices"}
	if was.BiosUUID == "" {
		mutable = append(mutable, "biosUUID")
	}
	return rules.Changed(&was, &after.Spec, field.NewPath("spec"),
		"change the VSphereMachineTemplate to replace the machine", mutable...)
}

func validateVMObject(vm *infrav1.VSphereVM) field.ErrorList {
	return append(validateVM(vm.Spec, field.NewPath("spec")), validateGuestName(vm.Name, vm.Spec.OS, field.NewPath("metadata", "name"))...)
}

// validateVM validates a virtual machine with all fields decided.
func validateVM(spec infrav1.VSphereVMSpec, path *field.Path) field.ErrorList {
	errs := validateClone(spec.VirtualMachineCloneSpec, path)
	errs = append(errs, validatePowerOff(spec.PowerOffMode, spec.GuestSoftPowerOffTimeoutSeconds, path)...)
	for i, device := range spec.Network.Devices {
		if device.NetworkName == "" {
			errs = append(errs, field.Required(path.Child("network", "devices").Index(i).Child("networkName"),
				"must be set in the VSphereMachineTemplate or in the VSphereFailureDomain"))
		}
	}
	if placement := spec.Placement; placement.VMGroupName != "" && placement.ComputeCluster == "" {
		errs = append(errs, field.Required(path.Child("placement", "computeCluster"),
			"must be set if vmGroupName is set; set it in the VSphereFailureDomain"))
	}
	return errs
}
