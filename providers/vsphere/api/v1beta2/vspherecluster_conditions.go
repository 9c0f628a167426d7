// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition FailureDomainsReady of a VSphereCluster.
const (
	// VSphereClusterFailureDomainsReadyCondition tells whether machines can be
	// put in all of the cluster's failure domains.
	VSphereClusterFailureDomainsReadyCondition = faultlinev1.FailureDomainsReadyCondition

	// VSphereClusterFailureDomainsWaitingForFailureDomainStatusReason: a zone
	// has not been checked yet.
	VSphereClusterFailureDomainsWaitingForFailureDomainStatusReason = "WaitingForFailureDomainStatus"

	// VSphereClusterFailureDomainsNoneSelectedReason: the selector matches no
	// zone on the cluster's server.
	VSphereClusterFailureDomainsNoneSelectedReason = "NoneSelected"

	// VSphereClusterFailureDomainsDeletingReason: the cluster is being deleted.
	VSphereClusterFailureDomainsDeletingReason = clusterv1.DeletingReason
)

// Condition VCenterAvailable of a VSphereCluster. See also the reasons that
// several kinds have.
const (
	// VSphereClusterVCenterAvailableCondition tells whether the vCenter can be
	// used with the cluster's credentials.
	VSphereClusterVCenterAvailableCondition = "VCenterAvailable"

	// VSphereClusterVCenterAvailableReason: it can.
	VSphereClusterVCenterAvailableReason = clusterv1.AvailableReason
)

// Condition ClusterModulesReady of a VSphereCluster. It is not part of Ready: machines run
// without modules.
const (
	// VSphereClusterClusterModulesReadyCondition tells whether the machines of one owner are
	// kept on different hosts by cluster modules.
	VSphereClusterClusterModulesReadyCondition = "ClusterModulesReady"

	// VSphereClusterClusterModulesReadyReason: they are.
	VSphereClusterClusterModulesReadyReason = clusterv1.ReadyReason

	// VSphereClusterModulesInvalidVCenterVersionReason: the vCenter is too old.
	VSphereClusterModulesInvalidVCenterVersionReason = "InvalidVCenterVersion"

	// VSphereClusterClusterModulesNotReadyReason: vCenter does not make them.
	VSphereClusterClusterModulesNotReadyReason = clusterv1.NotReadyReason

	// VSphereClusterClusterModulesDeletingReason: the cluster is being deleted, and vCenter does
	// not delete them.
	VSphereClusterClusterModulesDeletingReason = clusterv1.DeletingReason
)

// Condition Available of a VSphereClusterIdentity.
const (
	// VSphereClusterIdentityAvailableCondition tells whether the credentials
	// can be used.
	VSphereClusterIdentityAvailableCondition = clusterv1.AvailableCondition

	// VSphereClusterIdentityAvailableReason: they can.
	VSphereClusterIdentityAvailableReason = clusterv1.AvailableReason

	// VSphereClusterIdentitySecretNotAvailableReason: the Secret does not exist
	// or lacks a key.
	VSphereClusterIdentitySecretNotAvailableReason = "SecretNotAvailable"

	// VSphereClusterIdentitySecretAlreadyInUseReason: the Secret belongs to
	// another owner.
	VSphereClusterIdentitySecretAlreadyInUseReason = "SecretAlreadyInUse"

	// VSphereClusterIdentityDeletingReason: the identity is being deleted.
	VSphereClusterIdentityDeletingReason = clusterv1.DeletingReason
)
