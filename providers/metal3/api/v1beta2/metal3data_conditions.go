// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Condition Ready of a Metal3Data. It is absent while the data only waits for a host or an address that has been requested.
const (
	// Metal3DataReadyCondition reports whether the Secrets hold the data. If it is false, condition Metal3DataReady of the
	// Metal3Machine has the same reason.
	Metal3DataReadyCondition = clusterv1.ReadyCondition

	// Metal3DataReadyReason surfaces when the Secrets hold the data.
	Metal3DataReadyReason = clusterv1.ReadyReason

	// Metal3DataFailedReason surfaces when the data cannot be rendered because of an object that the template refers to.
	Metal3DataFailedReason = "Metal3DataFailed"

	// Metal3DataSecretRefusedReason surfaces when the API server rejects a Secret because of a quota, a policy, a webhook or a
	// missing permission.
	Metal3DataSecretRefusedReason = "SecretRefused"

	// Metal3DataAddressClaimRefusedReason surfaces when the API server rejects an address claim for one of these causes.
	Metal3DataAddressClaimRefusedReason = "AddressClaimRefused"

	// Metal3DataDeletingReason surfaces when the data is being deleted.
	Metal3DataDeletingReason = clusterv1.DeletingReason
)
