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

// Metal3DataClaim validates Metal3DataClaims.
type Metal3DataClaim struct {
	rules.Deletable[*infrav1.Metal3DataClaim]
}

var _ admission.Validator[*infrav1.Metal3DataClaim] = &Metal3DataClaim{}

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3dataclaim,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims,verbs=create;update,versions=v1beta2,name=validation.metal3dataclaim.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhook, and what converts the kind.
func (w *Metal3DataClaim) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3DataClaim{}).WithValidator(w).WithConverter(conversion.DataClaim()).Complete()
}

// ValidateCreate refuses claims that no data could be made for.
func (w *Metal3DataClaim) ValidateCreate(_ context.Context, claim *infrav1.Metal3DataClaim) (admission.Warnings, error) {
	return nil, refuse("Metal3DataClaim", claim.Name, validateDataClaim(claim))
}

// ValidateUpdate refuses to change the template: what was rendered from it may
// be on a host.
func (w *Metal3DataClaim) ValidateUpdate(_ context.Context, before, after *infrav1.Metal3DataClaim) (admission.Warnings, error) {
	errs := rules.Added(validateDataClaim(before), validateDataClaim(after))
	errs = append(errs, rules.Changed(&before.Spec, &after.Spec, field.NewPath("spec"), "create another Metal3DataClaim")...)
	return nil, refuse("Metal3DataClaim", after.Name, errs)
}

func validateDataClaim(claim *infrav1.Metal3DataClaim) field.ErrorList {
	return validateObject(claim.Spec.Template, "Metal3DataTemplate", claim.Namespace, field.NewPath("spec", "template"))
}
