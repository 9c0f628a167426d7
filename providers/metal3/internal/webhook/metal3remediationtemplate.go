// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/conversion"
)

// Metal3RemediationTemplate defaults Metal3RemediationTemplates. The CRD has all
// their rules.
type Metal3RemediationTemplate struct{}

var _ admission.Defaulter[*infrav1.Metal3RemediationTemplate] = &Metal3RemediationTemplate{}

// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-metal3remediationtemplate,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3remediationtemplates,verbs=create;update,versions=v1beta2,name=default.metal3remediationtemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhook, and what converts the kind.
func (w *Metal3RemediationTemplate) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3RemediationTemplate{}).WithDefaulter(w).WithConverter(conversion.RemediationTemplate()).Complete()
}

// Default spells out how machines are healed.
func (w *Metal3RemediationTemplate) Default(_ context.Context, template *infrav1.Metal3RemediationTemplate) error {
	spec := &template.Spec.Template.Spec
	spec.Strategy = defaultStrategy(spec.Strategy)
	return nil
}
