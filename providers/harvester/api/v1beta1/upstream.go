// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Reasons of upstream that this provider does not give. They are here for those who compile against them.
const (
	// InfrastructureProvisioningFailedReason: something has to be changed first.
	// Another condition says what.
	InfrastructureProvisioningFailedReason = "InfrastructureProvisioningFailed"
)
