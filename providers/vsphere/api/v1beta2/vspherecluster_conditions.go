// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// VSphereCluster's FailureDomainsReady condition and corresponding reasons.
const (
	// VSphereClusterFailureDomainsReadyCondition is true if machines can be placed in all of the cluster's failure domains.
	VSphereClusterFailureDomainsReadyCondition = faultlinev1.FailureDomainsReadyCondition

	// VSphereClusterFailureDomainsWaitingForFailureDomainStatusReason surfaces when a zone has not been checked yet.
	VSphereClusterFailureDomainsWaitingForFailureDomainStatusReason = "WaitingForFailureDomainStatus"

	// VSphereClusterFailureDomainsNoneSelectedReason surfaces when the selector matches no zone on the cluster's server.
	VSphereClusterFailureDomainsNoneSelectedReason = "NoneSelected"

	// VSphereClusterFailureDomainsDeletingReason surfaces when the cluster is being deleted.
	VSphereClusterFailureDomainsDeletingReason = clusterv1.DeletingReason
)

// VSphereCluster's VCenterAvailable condition, also of each of status.servers, and corresponding reasons. See also the reasons
// shared by several kinds.
const (
	// VSphereClusterVCenterAvailableCondition is true if the vCenter can be used with the cluster's credentials.
	VSphereClusterVCenterAvailableCondition = "VCenterAvailable"

	// VSphereClusterVCenterAvailableReason surfaces when the vCenter is available.
	VSphereClusterVCenterAvailableReason = clusterv1.AvailableReason

	// VSphereClusterSameVCenterReason surfaces in status.servers when two servers are one vCenter.
	VSphereClusterSameVCenterReason = "SameVCenter"

	// VSphereClusterNoZoneSelectedReason surfaces in status.servers when the selector matches no zone on the server.
	VSphereClusterNoZoneSelectedReason = "NoneSelected"
)

// VSphereCluster's ClusterModulesReady condition, also of each of status.servers, and corresponding reasons. The condition is not
// part of Ready, because machines run without modules.
const (
	// VSphereClusterClusterModulesReadyCondition is true if cluster modules keep the machines of each owner on different hosts.
	VSphereClusterClusterModulesReadyCondition = "ClusterModulesReady"

	// VSphereClusterClusterModulesReadyReason surfaces when all cluster modules exist.
	VSphereClusterClusterModulesReadyReason = clusterv1.ReadyReason

	// VSphereClusterModulesInvalidVCenterVersionReason surfaces when the vCenter is too old for cluster modules.
	VSphereClusterModulesInvalidVCenterVersionReason = "InvalidVCenterVersion"

	// VSphereClusterClusterModulesNotReadyReason surfaces when vCenter rejects creating the cluster modules.
	VSphereClusterClusterModulesNotReadyReason = clusterv1.NotReadyReason

	// VSphereClusterClusterModulesDeletingReason surfaces when the cluster is being deleted and vCenter has not deleted the
	// cluster modules.
	VSphereClusterClusterModulesDeletingReason = clusterv1.DeletingReason
)

// VSphereClusterIdentity's Available condition and corresponding reasons.
const (
	// VSphereClusterIdentityAvailableCondition is true if the credentials can be used.
	VSphereClusterIdentityAvailableCondition = clusterv1.AvailableCondition

	// VSphereClusterIdentityAvailableReason surfaces when the credentials can be used.
	VSphereClusterIdentityAvailableReason = clusterv1.AvailableReason

	// VSphereClusterIdentitySecretNotAvailableReason surfaces when the Secret does not exist or lacks a key.
	VSphereClusterIdentitySecretNotAvailableReason = "SecretNotAvailable"

	// VSphereClusterIdentitySecretAlreadyInUseReason surfaces when the Secret has another owner.
	VSphereClusterIdentitySecretAlreadyInUseReason = "SecretAlreadyInUse"

	// VSphereClusterIdentityDeletingReason surfaces when the identity is being deleted.
	VSphereClusterIdentityDeletingReason = clusterv1.DeletingReason
)
