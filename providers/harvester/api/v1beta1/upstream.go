// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Reasons of upstream that this provider does not use. They exist for clients
// that compile against them.
const (
	// InfrastructureProvisioningFailedReason surfaced when provisioning
	// needed user action. Another condition reported which.
	InfrastructureProvisioningFailedReason = "InfrastructureProvisioningFailed"
)
