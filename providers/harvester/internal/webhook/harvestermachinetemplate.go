// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-harvestermachinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=harvestermachinetemplates,verbs=create;update,versions=v1beta1,name=validation.harvestermachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// updateMachineTemplate rejects changes of the machine's spec. The exception is a dry run of the topology controller, which
// detects whether the template must be rotated.
func updateMachineTemplate(ctx context.Context, before, after *infrav1.HarvesterMachineTemplate) (admission.Warnings, field.ErrorList, error) {
	errs, err := rules.TemplateChanged(ctx, after, &before.Spec.Template.Spec, &after.Spec.Template.Spec)
	return nil, errs, err
}

func validateTemplateObject(template *infrav1.HarvesterMachineTemplate) field.ErrorList {
	return append(validateMachineTemplate(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec")),
		validateTemplateIdentity(template.Spec.Template.ObjectMeta, owned.MachineAnnotations())...)
}

// validateMachineTemplate validates the machine's spec, and rejects fields that only a single machine can have.
func validateMachineTemplate(spec infrav1.HarvesterMachineSpec, path *field.Path) field.ErrorList {
	errs := validateMachine(spec, path)
	if spec.ProviderID != "" {
		errs = append(errs, field.Forbidden(path.Child("providerID"),
			"must not be set in a template, because all its machines would share it: remove it"))
	}
	return errs
}

// warnMachineTemplate returns warnings about a valid but surprising template.
func warnMachineTemplate(spec infrav1.HarvesterMachineSpec, path *field.Path) admission.Warnings {
	warnings := warnMachine(spec, path)
	if spec.FailureDomain != "" {
		warnings = append(warnings, rules.Warning(path.Child("failureDomain"),
			"applies to all machines whose Machine does not name a failure domain; set it in the MachineDeployment, where Cluster API reads it"))
	}
	if spec.NetworkConfig != nil {
		warnings = append(warnings, rules.Warning(path.Child("networkConfig", "address"),
			"is shared by all machines of the template, so only one can run; use vmNetworkConfig with a pool"))
	}
	return warnings
}
