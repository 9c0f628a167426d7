// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3machinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates,verbs=create;update,versions=v1beta2,name=validation.metal3machinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// updateMachineTemplate rejects changes of the machine spec, except in dry runs of the topology controller, which detect changes.
// Fields that controllers read from the template of existing machines are mutable: the cleaning mode, node reuse, and the data
// templates of failure domains.
func updateMachineTemplate(ctx context.Context, before, after *infrav1.Metal3MachineTemplate) (admission.Warnings, field.ErrorList, error) {
	errs, err := rules.TemplateChanged(ctx, after, &before.Spec.Template.Spec, &after.Spec.Template.Spec, "automatedCleaningMode")
	return nil, errs, err
}

// validateMachineTemplate validates a machine template, and rejects fields that only a single machine can have.
func validateMachineTemplate(template *infrav1.Metal3MachineTemplate) field.ErrorList {
	path := field.NewPath("spec", "template", "spec")
	errs := validateMachine(template.Spec.Template.Spec, template.Namespace, path)
	if template.Spec.Template.Spec.ProviderID != "" {
		errs = append(errs, field.Forbidden(path.Child("providerID"),
			"may not be set in a template, because all its machines would share it: remove it"))
	}
	for i, domain := range template.Spec.FailureDomainDataTemplates {
		path := field.NewPath("spec", "failureDomainDataTemplates").Index(i)
		errs = append(errs, validateDomainName(domain.FailureDomain, path.Child("failureDomain"))...)
		errs = append(errs,
			validateNamespace(domain.DataTemplate.Namespace, template.Namespace, path.Child("dataTemplate", "namespace"))...)
	}
	return errs
}

// warnMachineTemplate returns warnings about valid but surprising settings of a template.
func warnMachineTemplate(template *infrav1.Metal3MachineTemplate) admission.Warnings {
	path := field.NewPath("spec", "template", "spec")
	warnings := warnMachine(template.Spec.Template.Spec, path)
	if template.Spec.Template.Spec.FailureDomain != "" {
		warnings = append(warnings, rules.Warning(path.Child("failureDomain"),
			"has no effect, because machines take the failure domain of their Machine: "+
				"remove it, and set the failure domain in the MachineDeployment"))
	}
	return warnings
}
