// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3clustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3clustertemplates,verbs=create;update,versions=v1beta2,name=validation.metal3clustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// validateClusterTemplate validates a cluster template. It requires no endpoint, because the ClusterClass sets it. The spec is
// mutable, because the topology controller propagates changes to the clusters.
func validateClusterTemplate(template *infrav1.Metal3ClusterTemplate) field.ErrorList {
	return validateCluster(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec"))
}
