// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func remediationToHub(src *v1beta1.Metal3Remediation, dst *infrav1.Metal3Remediation) {
	dst.Spec = remediationSpecToHub(src.Spec)
	dst.Status = remediationStatusToHub(src.Status)
}

func remediationFromHub(src *infrav1.Metal3Remediation, dst *v1beta1.Metal3Remediation) {
	dst.Spec = remediationSpecFromHub(src.Spec)
	dst.Status = remediationStatusFromHub(src.Status)
}

func remediationTemplateToHub(src *v1beta1.Metal3RemediationTemplate, dst *infrav1.Metal3RemediationTemplate) {
	dst.Spec.Template.Spec = remediationSpecToHub(src.Spec.Template.Spec)
	dst.Status.Status = remediationStatusToHub(src.Status.Status)
}

func remediationTemplateFromHub(src *infrav1.Metal3RemediationTemplate, dst *v1beta1.Metal3RemediationTemplate) {
	dst.Spec.Template.Spec = remediationSpecFromHub(src.Spec.Template.Spec)
	dst.Status.Status = remediationStatusFromHub(src.Status.Status)
}

func remediationSpecToHub(src v1beta1.Metal3RemediationSpec) infrav1.Metal3RemediationSpec {
	if src.Strategy == nil {
		return infrav1.Metal3RemediationSpec{}
	}
	return infrav1.Metal3RemediationSpec{Strategy: infrav1.RemediationStrategy{
		Type: infrav1.RemediationType(src.Strategy.Type), RetryLimit: src.Strategy.RetryLimit, TimeoutSeconds: conversion.Seconds(src.Strategy.Timeout),
	}}
}

func remediationSpecFromHub(src infrav1.Metal3RemediationSpec) v1beta1.Metal3RemediationSpec {
	if src.Strategy == (infrav1.RemediationStrategy{}) {
		return v1beta1.Metal3RemediationSpec{}
	}
	return v1beta1.Metal3RemediationSpec{Strategy: &v1beta1.RemediationStrategy{
		Type: string(src.Strategy.Type), RetryLimit: src.Strategy.RetryLimit, Timeout: conversion.Duration(src.Strategy.TimeoutSeconds),
	}}
}

func remediationStatusToHub(src v1beta1.Metal3RemediationStatus) infrav1.Metal3RemediationStatus {
	return infrav1.Metal3RemediationStatus{
		Phase: infrav1.RemediationPhase(src.Phase), RetryCount: src.RetryCount, LastRemediated: src.LastRemediated,
	}
}

func remediationStatusFromHub(src infrav1.Metal3RemediationStatus) v1beta1.Metal3RemediationStatus {
	return v1beta1.Metal3RemediationStatus{Phase: string(src.Phase), RetryCount: src.RetryCount, LastRemediated: src.LastRemediated}
}
