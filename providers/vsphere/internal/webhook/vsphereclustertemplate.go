// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vsphereclustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vsphereclustertemplates,verbs=create;update,versions=v1beta2,name=validation.vsphereclustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// changeClusterTemplate rejects every change, because clusters created from one template would differ.
func changeClusterTemplate(before, after *infrav1.VSphereClusterTemplate) field.ErrorList {
	return rules.Changed(&before.Spec.Template.Spec, &after.Spec.Template.Spec, field.NewPath("spec", "template", "spec"),
		"create another VSphereClusterTemplate and use it in the ClusterClass")
}

// validateClusterTemplate validates a cluster, and forbids fields that only a single cluster can have.
func validateClusterTemplate(template *infrav1.VSphereClusterTemplate) field.ErrorList {
	path, spec := field.NewPath("spec", "template", "spec"), template.Spec.Template.Spec
	errs := validateCluster(spec, path)
	if len(spec.ClusterModules) > 0 {
		errs = append(errs, field.Forbidden(path.Child("clusterModules"), "must not be set in a template, because a module belongs to one cluster: remove it"))
	}
	return errs
}
