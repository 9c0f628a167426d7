// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Condition Ready of a Metal3Data. While the data merely waits, for a host or
// an address that is on its way, the condition is not there.
const (
	// Metal3DataReadyCondition tells whether the Secrets hold the data. When
	// false, condition Metal3DataReady of the Metal3Machine has the reason too.
	Metal3DataReadyCondition = clusterv1.ReadyCondition

	// Metal3DataReadyReason: they do.
	Metal3DataReadyReason = clusterv1.ReadyReason

	// Metal3DataFailedReason: the data cannot be rendered for what the template
	// refers to.
	Metal3DataFailedReason = "Metal3DataFailed"

	// Metal3DataSecretRefusedReason: the API server refuses a Secret, for a
	// quota, a policy, a webhook or a right that is missing.
	Metal3DataSecretRefusedReason = "SecretRefused"

	// Metal3DataAddressClaimRefusedReason: the API server refuses the claim for
	// an address, for the same.
	Metal3DataAddressClaimRefusedReason = "AddressClaimRefused"

	// Metal3DataDeletingReason: the data is being deleted.
	Metal3DataDeletingReason = clusterv1.DeletingReason
)
