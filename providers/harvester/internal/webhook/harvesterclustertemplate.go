// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/rules"
)

// HarvesterClusterTemplate validates HarvesterClusterTemplates.
type HarvesterClusterTemplate struct {
	rules.Deletable[*infrav1.HarvesterClusterTemplate]
}

var _ admission.Validator[*infrav1.HarvesterClusterTemplate] = &HarvesterClusterTemplate{}

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-harvesterclustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=harvesterclustertemplates,verbs=create;update,versions=v1beta1,name=validation.harvesterclustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhook, and what converts the kind.
func (w *HarvesterClusterTemplate) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.HarvesterClusterTemplate{}).WithValidator(w).WithConverter(clusterTemplateConverter()).Complete()
}

// ValidateCreate refuses templates of clusters that would be refused. What is
// left empty is for patches of the ClusterClass to fill in.
func (w *HarvesterClusterTemplate) ValidateCreate(_ context.Context, template *infrav1.HarvesterClusterTemplate) (admission.Warnings, error) {
	return warnClusterTemplate(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec")),
		refuse("HarvesterClusterTemplate", template.Name, validateClusterTemplate(template))
}

// ValidateUpdate refuses changes that ValidateCreate would. Others are allowed:
// the topology controller passes them on to the clusters, whose own rules say
// what cannot change.
func (w *HarvesterClusterTemplate) ValidateUpdate(_ context.Context, before, after *infrav1.HarvesterClusterTemplate) (admission.Warnings, error) {
	path := field.NewPath("spec", "template", "spec")
	from, to := before.Spec.Template.Spec, after.Spec.Template.Spec
	return rules.AddedWarnings(warnClusterTemplate(from, path), warnClusterTemplate(to, path)),
		refuse("HarvesterClusterTemplate", after.Name, rules.Added(validateClusterTemplate(before), validateClusterTemplate(after)))
}

func validateClusterTemplate(template *infrav1.HarvesterClusterTemplate) field.ErrorList {
	return append(validateCluster(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec")),
		validateTemplateIdentity(template.Spec.Template.ObjectMeta, owned.ClusterAnnotations())...)
}

// warnClusterTemplate has what is accepted of a template, and may surprise.
func warnClusterTemplate(spec infrav1.HarvesterClusterSpec, path *field.Path) admission.Warnings {
	warnings := warnCluster(spec, path)
	if spec.Server != "" {
		warnings = append(warnings, rules.Warning(path.Child("server"),
			"is set by the controller from the kubeconfig, which the topology controller would take back; remove it"))
	}
	return warnings
}
