// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion converts the metal3 kinds between v1beta1 and v1beta2, the hub. It converts the fields that both versions
// have; conversion.Lossless preserves all others.
package conversion

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

// KeptAnnotation on an infrastructure object holds, while it is stored, the fields that only v1beta1 has.
const KeptAnnotation = "conversion.infrastructure.cluster.x-k8s.io/v1beta1"

// Converters holds the converters of all kinds.
type Converters struct {
	Cluster, ClusterTemplate, Data, DataClaim, DataTemplate, Machine, MachineTemplate, Remediation, RemediationTemplate conversion.Constructor
}

// New returns the converters of all kinds.
func New() Converters {
	return Converters{
		Cluster:             conversion.LosslessPair(KeptAnnotation, clusterFromHub, clusterToHub),
		ClusterTemplate:     conversion.LosslessPair(KeptAnnotation, clusterTemplateFromHub, clusterTemplateToHub),
		Data:                conversion.LosslessPair(KeptAnnotation, dataFromHub, dataToHub),
		DataClaim:           conversion.LosslessPair(KeptAnnotation, dataClaimFromHub, dataClaimToHub),
		DataTemplate:        conversion.LosslessPair(KeptAnnotation, dataTemplateFromHub, dataTemplateToHub),
		Machine:             conversion.LosslessPair(KeptAnnotation, machineFromHub, machineToHub),
		MachineTemplate:     conversion.LosslessPair(KeptAnnotation, machineTemplateFromHub, machineTemplateToHub),
		Remediation:         conversion.LosslessPair(KeptAnnotation, remediationFromHub, remediationToHub),
		RemediationTemplate: conversion.LosslessPair(KeptAnnotation, remediationTemplateFromHub, remediationTemplateToHub),
	}
}

// deprecated returns the status fields that only v1beta1 has, or nil if they are empty.
func deprecated(conditions clusterv1.Conditions, reason, message *string) *infrav1.DeprecatedStatus { //nolint:staticcheck // it is what v1beta1 shows
	if len(conditions) == 0 && reason == nil && message == nil {
		return nil
	}
	return &infrav1.DeprecatedStatus{V1Beta1: &infrav1.V1Beta1DeprecatedStatus{
		Conditions: conditions, FailureReason: reason, FailureMessage: message,
	}}
}

// shown reverts deprecated.
func shown(status *infrav1.DeprecatedStatus) (conditions clusterv1.Conditions, reason, message *string) { //nolint:staticcheck // it is what v1beta1 shows
	if status == nil || status.V1Beta1 == nil {
		return nil, nil, nil
	}
	return status.V1Beta1.Conditions, status.V1Beta1.FailureReason, status.V1Beta1.FailureMessage
}

func v1beta2StatusToHub(status *v1beta1.V1Beta2Status) []metav1.Condition {
	if status == nil {
		return nil
	}
	return status.Conditions
}

func v1beta2StatusFromHub(conditions []metav1.Condition) *v1beta1.V1Beta2Status {
	if len(conditions) == 0 {
		return nil
	}
	return &v1beta1.V1Beta2Status{Conditions: conditions}
}

// failureDomainsToHub sorts by name, so that the result is deterministic. An unset controlPlane means false.
func failureDomainsToHub(src map[string]v1beta1.FailureDomain) []clusterv1.FailureDomain {
	var dst []clusterv1.FailureDomain
	for _, name := range slices.Sorted(maps.Keys(src)) {
		dst = append(dst, clusterv1.FailureDomain{
			Name: name, ControlPlane: conversion.Pointer(ptr.Deref(src[name].ControlPlane, false)), Attributes: src[name].Attributes,
		})
	}
	return dst
}

func failureDomainsFromHub(src []clusterv1.FailureDomain) map[string]v1beta1.FailureDomain {
	if len(src) == 0 {
		return nil
	}
	dst := map[string]v1beta1.FailureDomain{}
	for _, domain := range src {
		dst[domain.Name] = v1beta1.FailureDomain{ControlPlane: conversion.Pointer(ptr.Deref(domain.ControlPlane, false)), Attributes: domain.Attributes}
	}
	return dst
}
