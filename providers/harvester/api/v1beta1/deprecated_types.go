// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// DeprecatedStatus holds the status of older API versions. No controller
// writes it. It is kept so that objects that carry it survive a round trip
// unchanged.
type DeprecatedStatus struct {
	// v1alpha1 holds the status fields of the v1alpha1 API version.
	// +optional
	V1Alpha1 *V1Alpha1DeprecatedStatus `json:"v1alpha1,omitempty"`
}

// V1Alpha1DeprecatedStatus holds the status fields that exist only in
// v1alpha1.
type V1Alpha1DeprecatedStatus struct {
	// failureReason is the reason of a terminal problem in one word.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`

	// failureMessage describes a terminal problem.
	// +optional
	FailureMessage string `json:"failureMessage,omitempty"`
}
