// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// DeprecatedStatus holds the status of older API versions. It is derived from the conditions of this version.
type DeprecatedStatus struct {
	// v1beta1 is the status in the format of v1beta1.
	// +optional
	V1Beta1 *V1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// V1Beta1DeprecatedStatus holds status fields that exist only in v1beta1.
type V1Beta1DeprecatedStatus struct {
	// conditions in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // it is what objects of v1beta1 carry

	// failureReason was a single-word reason of a terminal problem.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage described a terminal problem.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`
}

// deprecated returns the v1beta1 status, or nil without conditions. It sets no failure reason or message because this provider
// has no terminal failures.
func deprecated(conditions clusterv1.Conditions) *DeprecatedStatus { //nolint:staticcheck // it is what objects of v1beta1 carry
	if len(conditions) == 0 {
		return nil
	}
	return &DeprecatedStatus{V1Beta1: &V1Beta1DeprecatedStatus{Conditions: conditions}}
}

// SetV1Beta1Conditions replaces the v1beta1 conditions.
func (c *Metal3Cluster) SetV1Beta1Conditions(conditions clusterv1.Conditions) { //nolint:staticcheck // it is what objects of v1beta1 carry
	c.Status.Deprecated = deprecated(conditions)
}

// SetV1Beta1Conditions replaces the v1beta1 conditions.
func (m *Metal3Machine) SetV1Beta1Conditions(conditions clusterv1.Conditions) { //nolint:staticcheck // it is what objects of v1beta1 carry
	m.Status.Deprecated = deprecated(conditions)
}
