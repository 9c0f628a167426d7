// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// VSphereClusterTemplate validates VSphereClusterTemplates.
type VSphereClusterTemplate struct {
	rules.Deletable[*infrav1.VSphereClusterTemplate]
}

var _ admission.Validator[*infrav1.VSphereClusterTemplate] = &VSphereClusterTemplate{}

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vsphereclustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vsphereclustertemplates,verbs=create;update,versions=v1beta2,name=validation.vsphereclustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhook, and what converts the kind.
func (w *VSphereClusterTemplate) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.VSphereClusterTemplate{}).WithValidator(w).WithConverter(conversion.ClusterTemplate).Complete()
}

// ValidateCreate refuses templates of clusters that would be refused.
func (w *VSphereClusterTemplate) ValidateCreate(_ context.Context, template *infrav1.VSphereClusterTemplate) (admission.Warnings, error) {
	return warnCluster(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec")),
		refuse("VSphereClusterTemplate", template.Name, validateClusterTemplate(template))
}

// ValidateUpdate refuses every change of the cluster's spec.
func (w *VSphereClusterTemplate) ValidateUpdate(_ context.Context, before, after *infrav1.VSphereClusterTemplate) (admission.Warnings, error) {
	errs := rules.Changed(&before.Spec.Template.Spec, &after.Spec.Template.Spec, field.NewPath("spec", "template", "spec"),
		"create another VSphereClusterTemplate and name it in the ClusterClass")
	return nil, refuse("VSphereClusterTemplate", after.Name, errs)
}

// validateClusterTemplate has the rules of a cluster, and forbids what only a single cluster can have.
func validateClusterTemplate(template *infrav1.VSphereClusterTemplate) field.ErrorList {
	path, spec := field.NewPath("spec", "template", "spec"), template.Spec.Template.Spec
	errs := validateCluster(spec, path)
	if len(spec.ClusterModules) > 0 {
		errs = append(errs, field.Forbidden(path.Child("clusterModules"), "a module belongs to one cluster, and the controller records it there: remove it"))
	}
	return errs
}
