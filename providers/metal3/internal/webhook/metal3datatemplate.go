// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// Metal3DataTemplate validates Metal3DataTemplates.
type Metal3DataTemplate struct {
	rules.Deletable[*infrav1.Metal3DataTemplate]
}

var _ admission.Validator[*infrav1.Metal3DataTemplate] = &Metal3DataTemplate{}

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3datatemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates,verbs=create;update,versions=v1beta2,name=validation.metal3datatemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhook, and what converts the kind.
func (w *Metal3DataTemplate) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3DataTemplate{}).WithValidator(w).WithConverter(conversion.DataTemplate()).Complete()
}

// ValidateCreate refuses templates that nothing could be rendered from.
func (w *Metal3DataTemplate) ValidateCreate(_ context.Context, template *infrav1.Metal3DataTemplate) (admission.Warnings, error) {
	return warnDataTemplate(template.Spec, field.NewPath("spec")), refuse("Metal3DataTemplate", template.Name, validateDataTemplateObject(template))
}

// ValidateUpdate refuses to change what is rendered: machines made from one
// template would differ.
func (w *Metal3DataTemplate) ValidateUpdate(_ context.Context, before, after *infrav1.Metal3DataTemplate) (admission.Warnings, error) {
	path := field.NewPath("spec")
	errs := rules.Added(validateDataTemplateObject(before), validateDataTemplateObject(after))
	errs = append(errs, rules.Changed(&before.Spec, &after.Spec, path,
		"create another Metal3DataTemplate and name it in a new Metal3MachineTemplate", "clusterName")...)
	return rules.AddedWarnings(warnDataTemplate(before.Spec, path), warnDataTemplate(after.Spec, path)),
		refuse("Metal3DataTemplate", after.Name, errs)
}

func validateDataTemplateObject(template *infrav1.Metal3DataTemplate) field.ErrorList {
	return validateDataTemplate(template.Spec, field.NewPath("spec"))
}

// validateDataTemplate has the rules of what is rendered.
func validateDataTemplate(spec infrav1.Metal3DataTemplateSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.MetaData != nil {
		errs = append(errs, validateMetaData(*spec.MetaData, path.Child("metaData"))...)
	}
	if spec.NetworkData != nil {
		errs = append(errs, validateNetworkData(*spec.NetworkData, path.Child("networkData"))...)
	}
	return errs
}

// warnDataTemplate has what is accepted of a template, and may surprise.
func warnDataTemplate(spec infrav1.Metal3DataTemplateSpec, path *field.Path) admission.Warnings {
	if spec.ClusterName == "" {
		return nil
	}
	return admission.Warnings{rules.Warning(path.Child("clusterName"), "is of no effect, because the Metal3DataClaims name the template; remove it")}
}
