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

// Metal3Remediation defaults Metal3Remediations. The CRD has all their rules.
type Metal3Remediation struct{}

var _ admission.Defaulter[*infrav1.Metal3Remediation] = &Metal3Remediation{}

// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-metal3remediation,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations,verbs=create;update,versions=v1beta2,name=default.metal3remediation.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhook, and what converts the kind.
func (w *Metal3Remediation) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3Remediation{}).WithDefaulter(w).WithConverter(conversion.Remediation()).Complete()
}

// Default spells out how the machine is healed.
func (w *Metal3Remediation) Default(_ context.Context, remediation *infrav1.Metal3Remediation) error {
	remediation.Spec.Strategy = defaultStrategy(remediation.Spec.Strategy)
	return nil
}

func defaultStrategy(strategy infrav1.RemediationStrategy) infrav1.RemediationStrategy {
	if strategy.Type == "" {
		strategy.Type = infrav1.RebootRemediation
	}
	if strategy.RetryLimit == 0 {
		strategy.RetryLimit = infrav1.DefaultRemediationRetryLimit
	}
	if strategy.TimeoutSeconds == 0 {
		strategy.TimeoutSeconds = infrav1.DefaultRemediationTimeoutSeconds
	}
	return strategy
}
