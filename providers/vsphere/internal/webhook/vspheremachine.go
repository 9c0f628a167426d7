// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

const (
	// onlyDatacenter stands for the only datacenter of a vCenter.
	onlyDatacenter = "*"

	// providerIDScheme starts every providerID.
	providerIDScheme = "vsphere://"
)

// VSphereMachine defaults and validates VSphereMachines.
type VSphereMachine struct {
	rules.Deletable[*infrav1.VSphereMachine]
}

var (
	_ admission.Validator[*infrav1.VSphereMachine] = &VSphereMachine{}
	_ admission.Defaulter[*infrav1.VSphereMachine] = &VSphereMachine{}
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vspheremachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines,verbs=create;update,versions=v1beta2,name=validation.vspheremachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-vspheremachine,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines,verbs=create;update,versions=v1beta2,name=default.vspheremachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhooks, and what converts the kind.
func (w *VSphereMachine) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.VSphereMachine{}).WithDefaulter(w).WithValidator(w).WithConverter(conversion.Machine).Complete()
}

// Default puts a machine that names no datacenter in the only one.
func (w *VSphereMachine) Default(_ context.Context, machine *infrav1.VSphereMachine) error {
	if machine.Spec.Datacenter == "" {
		machine.Spec.Datacenter = onlyDatacenter
	}
	return nil
}

// ValidateCreate refuses machines that could not be cloned as asked.
func (w *VSphereMachine) ValidateCreate(_ context.Context, machine *infrav1.VSphereMachine) (admission.Warnings, error) {
	return warnMachine(machine.Spec, field.NewPath("spec")), refuse("VSphereMachine", machine.Name, validateMachineObject(machine))
}

// ValidateUpdate refuses to change what a machine is. How it is powered off may
// change, the thumbprint of its server, and its network cards may be given addresses.
func (w *VSphereMachine) ValidateUpdate(ctx context.Context, before, after *infrav1.VSphereMachine) (admission.Warnings, error) {
	// The old object may be older than the default, which is no change.
	before = before.DeepCopy()
	if err := w.Default(ctx, before); err != nil {
		return nil, err
	}
	path := field.NewPath("spec")
	errs := rules.Added(validateMachineObject(before), validateMachineObject(after))
	errs = append(errs, rules.Changed(&before.Spec, &after.Spec, path,
		"change the VSphereMachineTemplate that the machine is made from, and the machine is replaced",
		"providerID", "thumbprint", "powerOffMode", "guestSoftPowerOffTimeoutSeconds", "network.devices")...)
	return rules.AddedWarnings(warnMachine(before.Spec, path), warnMachine(after.Spec, path)),
		refuse("VSphereMachine", after.Name, errs)
}

func validateMachineObject(machine *infrav1.VSphereMachine) field.ErrorList {
	return validateMachine(machine.Spec, field.NewPath("spec"))
}

// validateMachine has the rules of a machine, on its own or in a template.
func validateMachine(spec infrav1.VSphereMachineSpec, path *field.Path) field.ErrorList {
	errs := validateClone(spec.VirtualMachineCloneSpec, path)
	errs = append(errs, validatePowerOff(spec.PowerOffMode, spec.GuestSoftPowerOffTimeoutSeconds, path)...)
	errs = append(errs, validateNaming(spec.Naming, path.Child("naming"))...)
	if id := spec.ProviderID; id != "" && !strings.HasPrefix(id, providerIDScheme) {
		errs = append(errs, field.Invalid(path.Child("providerID"), id,
			"must be "+providerIDScheme+" and the BIOS UUID of the virtual machine; leave it out and the controller sets it"))
	}
	return errs
}

// warnMachine has what is accepted of a machine, and may surprise.
func warnMachine(spec infrav1.VSphereMachineSpec, path *field.Path) admission.Warnings {
	warnings := warnClone(spec.VirtualMachineCloneSpec, path)
	warnings = append(warnings, warnNetwork(spec.Network, path.Child("network"))...)
	return append(warnings, warnNaming(spec.Naming, path.Child("naming"))...)
}
