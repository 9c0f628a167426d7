// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// DeprecatedStatus holds status of older API versions. It is made from the
// conditions of this one.
type DeprecatedStatus struct {
	// v1beta1 is what the v1beta1 API version showed in its status.
	// +optional
	V1Beta1 *V1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// V1Beta1DeprecatedStatus is status that only the v1beta1 API version shows.
type V1Beta1DeprecatedStatus struct {
	// conditions in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // it is what objects of v1beta1 carry

	// failureReason named a terminal problem in one word.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage described a terminal problem.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`
}

// deprecated returns status that only v1beta1 shows, nil when that is nothing. No
// failure is for ever here, so there is no reason or message of one.
func deprecated(conditions clusterv1.Conditions) *DeprecatedStatus { //nolint:staticcheck // it is what objects of v1beta1 carry
	if len(conditions) == 0 {
		return nil
	}
	return &DeprecatedStatus{V1Beta1: &V1Beta1DeprecatedStatus{Conditions: conditions}}
}

// SetV1Beta1Conditions replaces what v1beta1 shows as conditions.
func (c *Metal3Cluster) SetV1Beta1Conditions(conditions clusterv1.Conditions) { //nolint:staticcheck // it is what objects of v1beta1 carry
	c.Status.Deprecated = deprecated(conditions)
}

// SetV1Beta1Conditions replaces what v1beta1 shows as conditions.
func (m *Metal3Machine) SetV1Beta1Conditions(conditions clusterv1.Conditions) { //nolint:staticcheck // it is what objects of v1beta1 carry
	m.Status.Deprecated = deprecated(conditions)
}
