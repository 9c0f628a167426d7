// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-metal3remediation,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations,verbs=create;update,versions=v1beta2,name=default.metal3remediation.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-metal3remediationtemplate,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3remediationtemplates,verbs=create;update,versions=v1beta2,name=default.metal3remediationtemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// The CRDs contain all validation of Metal3Remediations and their templates. The webhooks only set defaults, which make the
// strategy explicit.

func defaultRemediation(_ context.Context, remediation *infrav1.Metal3Remediation) error {
	remediation.Spec.Strategy = defaultStrategy(remediation.Spec.Strategy)
	return nil
}

func defaultRemediationTemplate(_ context.Context, template *infrav1.Metal3RemediationTemplate) error {
	spec := &template.Spec.Template.Spec
	spec.Strategy = defaultStrategy(spec.Strategy)
	return nil
}

func defaultStrategy(strategy infrav1.RemediationStrategy) infrav1.RemediationStrategy {
	strategy.Type = cmp.Or(strategy.Type, infrav1.RebootRemediation)
	strategy.RetryLimit = cmp.Or(strategy.RetryLimit, infrav1.DefaultRemediationRetryLimit)
	strategy.TimeoutSeconds = cmp.Or(strategy.TimeoutSeconds, infrav1.DefaultRemediationTimeoutSeconds)
	return strategy
}
