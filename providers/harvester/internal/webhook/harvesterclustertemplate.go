// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-harvesterclustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=harvesterclustertemplates,verbs=create;update,versions=v1beta1,name=validation.harvesterclustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

func validateClusterTemplate(template *infrav1.HarvesterClusterTemplate) field.ErrorList {
	return append(validateCluster(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec")),
		validateTemplateIdentity(template.Spec.Template.ObjectMeta, owned.ClusterAnnotations())...)
}

// warnClusterTemplate returns warnings about a valid but surprising template.
func warnClusterTemplate(spec infrav1.HarvesterClusterSpec, path *field.Path) admission.Warnings {
	warnings := warnCluster(spec, path)
	if spec.Server != "" {
		warnings = append(warnings, rules.Warning(path.Child("server"),
			"is set by the controller from the kubeconfig, and the topology controller would revert that; remove it"))
	}
	return warnings
}
