// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// DeprecatedStatus holds status of older API versions. No controller writes it;
// it is kept so that objects which carry it are read back unchanged.
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
