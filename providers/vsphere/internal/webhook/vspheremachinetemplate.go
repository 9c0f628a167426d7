// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vspheremachinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheremachinetemplates,verbs=create;update,versions=v1beta2,name=validation.vspheremachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-vspheremachinetemplate,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheremachinetemplates,verbs=create;update,versions=v1beta2,name=default.vspheremachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// defaultMachineTemplate sets the default of powerOffMode, only in dry runs of the topology controller. That controller
// replaces machines if a dry run shows a change of their template. Older templates have the default stored, so that without it
// the dry run would report a change that does not exist.
func defaultMachineTemplate(ctx context.Context, template *infrav1.VSphereMachineTemplate) error {
	dryRun, err := rules.IsTopologyDryRun(ctx, template)
	if err != nil {
		return err
	}
	if spec := &template.Spec.Template.Spec; dryRun && spec.PowerOffMode == "" {
		spec.PowerOffMode = infrav1.VirtualMachinePowerOpModeHard
	}
	return nil
}

// updateMachineTemplate rejects every change of the machine's spec, except in dry runs of the topology controller, which detect
// changes.
func updateMachineTemplate(ctx context.Context, before, after *infrav1.VSphereMachineTemplate) (admission.Warnings, field.ErrorList, error) {
	errs, err := rules.TemplateChanged(ctx, after, &before.Spec.Template.Spec, &after.Spec.Template.Spec)
	return nil, errs, err
}

func validateTemplateObject(template *infrav1.VSphereMachineTemplate) field.ErrorList {
	return validateMachineTemplate(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec"))
}

// validateMachineTemplate validates a machine, and forbids fields that only a single machine can have.
func validateMachineTemplate(spec infrav1.VSphereMachineSpec, path *field.Path) field.ErrorList {
	const shared = "must not be set in a template, because all its machines would share it: remove it"
	errs := validateMachine(spec, path)
	if spec.ProviderID != "" {
		errs = append(errs, field.Forbidden(path.Child("providerID"), shared))
	}
	for i, device := range spec.Network.Devices {
		if len(device.IPAddrs) > 0 {
			errs = append(errs, field.Forbidden(path.Child("network", "devices").Index(i).Child("ipAddrs"),
				shared+", and use DHCP"))
		}
	}
	return errs
}

func warnMachineTemplate(spec infrav1.VSphereMachineSpec, path *field.Path) admission.Warnings {
	warnings := warnMachine(spec, path)
	for i, device := range spec.Network.Devices {
		if device.MACAddr != "" {
			warnings = append(warnings, rules.Warning(path.Child("network", "devices").Index(i).Child("macAddr"),
				"is shared by all machines of the template, so only one can run; remove it to have vCenter choose"))
		}
	}
	return warnings
}
