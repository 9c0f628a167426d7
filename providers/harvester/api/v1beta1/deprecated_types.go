// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// DeprecatedStatus holds status of older API versions. No controller writes it;
// it is kept so that objects which carry it are read back unchanged.
type DeprecatedStatus struct {
	// v1alpha1 is what the v1alpha1 API version showed in its status.
	// +optional
	V1Alpha1 *V1Alpha1DeprecatedStatus `json:"v1alpha1,omitempty"`
}

// V1Alpha1DeprecatedStatus is status that only the v1alpha1 API version shows.
type V1Alpha1DeprecatedStatus struct {
	// failureReason named a terminal problem in one word.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`

	// failureMessage described a terminal problem.
	// +optional
	FailureMessage string `json:"failureMessage,omitempty"`
}
