// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3dataclaim,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims,verbs=create;update,versions=v1beta2,name=validation.metal3dataclaim.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// changeDataClaim rejects changes of the template, because data rendered from it may be on a host.
func changeDataClaim(before, after *infrav1.Metal3DataClaim) field.ErrorList {
	return rules.Changed(&before.Spec, &after.Spec, field.NewPath("spec"), "create another Metal3DataClaim")
}

func validateDataClaim(claim *infrav1.Metal3DataClaim) field.ErrorList {
	return validateObject(claim.Spec.Template, "Metal3DataTemplate", claim.Namespace, field.NewPath("spec", "template"))
}
