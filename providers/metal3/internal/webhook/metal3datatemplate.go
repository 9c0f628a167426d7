// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3datatemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates,verbs=create;update,versions=v1beta2,name=validation.metal3datatemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// changeDataTemplate rejects changes of the rendered data, because machines of one template would differ.
func changeDataTemplate(before, after *infrav1.Metal3DataTemplate) field.ErrorList {
	return rules.Changed(&before.Spec, &after.Spec, field.NewPath("spec"),
		"create another Metal3DataTemplate and name it in a new Metal3MachineTemplate", "clusterName")
}

func validateDataTemplateObject(template *infrav1.Metal3DataTemplate) field.ErrorList {
	return validateDataTemplate(template.Spec, field.NewPath("spec"))
}

// validateDataTemplate validates the spec of a data template.
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

// warnDataTemplate returns warnings about valid but surprising settings of a data template.
func warnDataTemplate(spec infrav1.Metal3DataTemplateSpec, path *field.Path) admission.Warnings {
	if spec.ClusterName == "" {
		return nil
	}
	return admission.Warnings{rules.Warning(path.Child("clusterName"), "has no effect, because Metal3DataClaims name the template: remove it")}
}
