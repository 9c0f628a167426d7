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

// Metal3ClusterTemplate validates Metal3ClusterTemplates.
type Metal3ClusterTemplate struct {
	rules.Deletable[*infrav1.Metal3ClusterTemplate]
}

var _ admission.Validator[*infrav1.Metal3ClusterTemplate] = &Metal3ClusterTemplate{}

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3clustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3clustertemplates,verbs=create;update,versions=v1beta2,name=validation.metal3clustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhook, and what converts the kind.
func (w *Metal3ClusterTemplate) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3ClusterTemplate{}).WithValidator(w).WithConverter(conversion.ClusterTemplate()).Complete()
}

// ValidateCreate refuses templates of clusters that would be refused. Where a
// cluster is reached is for the ClusterClass to fill in.
func (w *Metal3ClusterTemplate) ValidateCreate(_ context.Context, template *infrav1.Metal3ClusterTemplate) (admission.Warnings, error) {
	return warnCluster(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec")),
		refuse("Metal3ClusterTemplate", template.Name, validateClusterTemplate(template))
}

// ValidateUpdate refuses changes that ValidateCreate would. Others are allowed:
// the topology controller passes them on to the clusters.
func (w *Metal3ClusterTemplate) ValidateUpdate(_ context.Context, before, after *infrav1.Metal3ClusterTemplate) (admission.Warnings, error) {
	path := field.NewPath("spec", "template", "spec")
	from, to := before.Spec.Template.Spec, after.Spec.Template.Spec
	return rules.AddedWarnings(warnCluster(from, path), warnCluster(to, path)),
		refuse("Metal3ClusterTemplate", after.Name, rules.Added(validateClusterTemplate(before), validateClusterTemplate(after)))
}

func validateClusterTemplate(template *infrav1.Metal3ClusterTemplate) field.ErrorList {
	return validateCluster(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec"))
}
