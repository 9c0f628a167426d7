// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-harvestermachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=harvestermachines,verbs=create;update,versions=v1beta1,name=validation.harvestermachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// createMachine rejects another machine's identity. The reader should be uncached, so that it sees objects that were just created.
func createMachine(reader client.Reader) rules.Rule[*infrav1.HarvesterMachine] {
	return func(ctx context.Context, machine *infrav1.HarvesterMachine) (admission.Warnings, field.ErrorList, error) {
		copied, err := validateNewIdentity(ctx, reader, machine, infrav1.MachineIDAnnotation, &infrav1.HarvesterMachineList{})
		return nil, copied, err
	}
}

// changeMachine rejects changes of immutable fields.
func changeMachine(before, after *infrav1.HarvesterMachine) field.ErrorList {
	path := field.NewPath("spec")
	errs := rules.Changed(&before.Spec, &after.Spec, path,
		"change the HarvesterMachineTemplate instead, which replaces the machine", "providerID", "failureDomain")
	if id := before.Spec.ProviderID; id != "" && id != after.Spec.ProviderID {
		errs = append(errs, field.Forbidden(path.Child("providerID"), "must not be changed once it is set: keep "+id))
	}
	return errs
}

// validateMachineObject validates a machine, and requires fields that a template may leave to its ClusterClass.
func validateMachineObject(machine *infrav1.HarvesterMachine) field.ErrorList {
	path := field.NewPath("spec")
	errs := append(validateMachine(machine.Spec, path), requireMachine(machine.Spec, path)...)
	errs = append(errs, validateIdentity(machine, infrav1.MachineIDAnnotation)...)
	if len(validation.IsDNS1123Label(machine.Name)) > 0 {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), machine.Name,
			"must be at most 63 lower-case letters, digits and '-', because it is also the name of the virtual machine"))
	}
	return errs
}

// requireMachine requires the fields that every machine needs.
func requireMachine(spec infrav1.HarvesterMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.CPU == 0 {
		errs = append(errs, field.Required(path.Child("cpu"), "must be the number of CPU cores"))
	}
	if spec.Memory == "" {
		errs = append(errs, field.Required(path.Child("memory"), "must be a quantity, for example 4Gi"))
	}
	if len(spec.Volumes) == 0 {
		errs = append(errs, field.Required(path.Child("volumes"), "must have at least the volume that the machine boots from"))
	}
	return errs
}

// validateMachine validates the spec of a machine or template. Empty fields are valid.
func validateMachine(spec infrav1.HarvesterMachineSpec, path *field.Path) field.ErrorList {
	errs := validateMemory(spec.Memory, path.Child("memory"))
	errs = append(errs, validateVolumes(spec.Volumes, path.Child("volumes"))...)
	for i, network := range spec.Networks {
		errs = append(errs, validateReference(network, path.Child("networks").Index(i))...)
	}
	if spec.SSHKeyPair != "" {
		errs = append(errs, validateReference(spec.SSHKeyPair, path.Child("sshKeyPair"))...)
	}
	errs = append(errs, validateMachineNetwork(spec, path)...)
	errs = append(errs, validateHardware(spec, path)...)
	if spec.NodeAffinity != nil {
		errs = append(errs, validateNodeAffinity(*spec.NodeAffinity, path.Child("nodeAffinity"))...)
	}
	if spec.WorkloadAffinity != nil {
		errs = append(errs, validatePodAffinity(*spec.WorkloadAffinity, path.Child("workloadAffinity"))...)
	}
	errs = append(errs, validateDomainName(spec.FailureDomain, path.Child("failureDomain"))...)
	if id := spec.ProviderID; id != "" && !strings.HasPrefix(id, infrav1.ProviderIDPrefix) {
		errs = append(errs, field.Invalid(path.Child("providerID"), id,
			"must be "+infrav1.ProviderIDPrefix+" followed by the UID of the virtual machine; omit it, and the controller sets it"))
	}
	return errs
}

func validateMemory(memory string, path *field.Path) field.ErrorList {
	if memory == "" {
		return nil
	}
	if size, err := resource.ParseQuantity(memory); err != nil || size.Sign() <= 0 {
		return field.ErrorList{field.Invalid(path, memory, "must be a positive quantity, for example 4Gi")}
	}
	return nil
}

// validateHardware validates firmware and TPM.
func validateHardware(spec infrav1.HarvesterMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if firmware := spec.Firmware; firmware != nil && firmware.SecureBoot && !firmware.EFI {
		errs = append(errs, field.Invalid(path.Child("firmware", "secureBoot"), true, "must not be true without UEFI: set efi to true as well"))
	}
	if tpm := spec.TPM; tpm != nil && tpm.Persistent && !tpm.Enabled {
		errs = append(errs, field.Invalid(path.Child("tpm", "persistent"), true, "must not be true without a TPM: set enabled to true as well"))
	}
	return errs
}

// warnMachine returns warnings about a valid but surprising machine.
func warnMachine(spec infrav1.HarvesterMachineSpec, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	if spec.VMNetworkConfig != nil {
		warnings = append(warnings, warnVMNetwork(*spec.VMNetworkConfig, path.Child("vmNetworkConfig"))...)
	}
	if spec.SSHKeyPair != "" && spec.SSHUser == "" {
		warnings = append(warnings, rules.Warning(path.Child("sshKeyPair"),
			"is added to the image's default user, because sshUser is not set"))
	}
	return warnings
}
