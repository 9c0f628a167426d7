// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// VSphereVM defaults and validates VSphereVMs.
type VSphereVM struct {
	rules.Deletable[*infrav1.VSphereVM]
}

var (
	_ admission.Validator[*infrav1.VSphereVM] = &VSphereVM{}
	_ admission.Defaulter[*infrav1.VSphereVM] = &VSphereVM{}
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vspherevm,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspherevms,verbs=create;update,versions=v1beta2,name=validation.vspherevm.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-vspherevm,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspherevms,verbs=create;update,versions=v1beta2,name=default.vspherevm.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhooks, and what converts the kind.
func (w *VSphereVM) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.VSphereVM{}).WithDefaulter(w).WithValidator(w).WithConverter(conversion.VM).Complete()
}

// Default takes a guest of no named system to be Linux.
func (w *VSphereVM) Default(_ context.Context, vm *infrav1.VSphereVM) error {
	if vm.Spec.OS == "" {
		vm.Spec.OS = infrav1.Linux
	}
	return nil
}

// ValidateCreate refuses virtual machines that could not be cloned as asked.
func (w *VSphereVM) ValidateCreate(_ context.Context, vm *infrav1.VSphereVM) (admission.Warnings, error) {
	return nil, refuse("VSphereVM", vm.Name, validateVMObject(vm))
}

// ValidateUpdate refuses to change what a virtual machine is and where. How it
// is reached, booted and powered off may change, and its network cards may be
// given addresses.
func (w *VSphereVM) ValidateUpdate(ctx context.Context, before, after *infrav1.VSphereVM) (admission.Warnings, error) {
	// The old object may be older than the default, which is no change.
	before = before.DeepCopy()
	if err := w.Default(ctx, before); err != nil {
		return nil, err
	}
	mutable := []string{"bootstrapRef.name", "thumbprint", "powerOffMode", "guestSoftPowerOffTimeoutSeconds", "network.devices"}
	if before.Spec.BiosUUID == "" {
		mutable = append(mutable, "biosUUID")
	}
	path := field.NewPath("spec")
	errs := rules.Added(validateVMObject(before), validateVMObject(after))
	errs = append(errs, rules.Changed(&before.Spec, &after.Spec, path,
		"it was settled when the machine was made; change the VSphereMachineTemplate, and the machine is replaced", mutable...)...)
	return nil, refuse("VSphereVM", after.Name, errs)
}

func validateVMObject(vm *infrav1.VSphereVM) field.ErrorList {
	return append(validateVM(vm.Spec, field.NewPath("spec")), validateGuestName(vm.Name, vm.Spec.OS, field.NewPath("metadata", "name"))...)
}

// validateVM has the rules of a virtual machine with everything decided.
func validateVM(spec infrav1.VSphereVMSpec, path *field.Path) field.ErrorList {
	errs := validateClone(spec.VirtualMachineCloneSpec, path)
	errs = append(errs, validatePowerOff(spec.PowerOffMode, spec.GuestSoftPowerOffTimeoutSeconds, path)...)
	for i, device := range spec.Network.Devices {
		if device.NetworkName == "" {
			errs = append(errs, field.Required(path.Child("network", "devices").Index(i).Child("networkName"),
				"name it in the VSphereMachineTemplate or in the VSphereFailureDomain"))
		}
	}
	if placement := spec.Placement; placement.VMGroupName != "" && placement.ComputeCluster == "" {
		errs = append(errs, field.Required(path.Child("placement", "computeCluster"),
			"a VM group belongs to a compute cluster; name it in the VSphereFailureDomain"))
	}
	return errs
}
