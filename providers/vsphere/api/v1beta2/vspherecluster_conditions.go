// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition Ready of a VSphereCluster sums up the others.
const (
	// VSphereClusterReadyCondition is true when all the other conditions are.
	VSphereClusterReadyCondition = clusterv1.ReadyCondition

	// VSphereClusterReadyReason: all conditions are as they should be.
	VSphereClusterReadyReason = clusterv1.ReadyReason

	// VSphereClusterNotReadyReason: a condition is not as it should be.
	VSphereClusterNotReadyReason = clusterv1.NotReadyReason

	// VSphereClusterReadyUnknownReason: a condition is not known.
	VSphereClusterReadyUnknownReason = clusterv1.ReadyUnknownReason
)

// Condition FailureDomainsReady of a VSphereCluster.
const (
	// VSphereClusterFailureDomainsReadyCondition tells whether machines can be
	// put in all of the cluster's failure domains.
	VSphereClusterFailureDomainsReadyCondition = faultlinev1.FailureDomainsReadyCondition

	// VSphereClusterFailureDomainsReadyReason: they can.
	VSphereClusterFailureDomainsReadyReason = clusterv1.ReadyReason

	// VSphereClusterFailureDomainsWaitingForFailureDomainStatusReason: a zone
	// has not been checked yet.
	VSphereClusterFailureDomainsWaitingForFailureDomainStatusReason = "WaitingForFailureDomainStatus"

	// VSphereClusterFailureDomainsNotReadyReason: a zone is not ready.
	VSphereClusterFailureDomainsNotReadyReason = clusterv1.NotReadyReason

	// VSphereClusterFailureDomainsNoneSelectedReason: the selector matches no
	// zone on the cluster's server.
	VSphereClusterFailureDomainsNoneSelectedReason = "NoneSelected"

	// VSphereClusterFailureDomainsInvalidSelectorReason: the selector cannot be
	// read.
	VSphereClusterFailureDomainsInvalidSelectorReason = "InvalidSelector"

	// VSphereClusterFailureDomainsTooManyUnhealthyReason: so many zones turned
	// bad at once that the view of them is doubted and nothing is changed.
	VSphereClusterFailureDomainsTooManyUnhealthyReason = faultlinev1.ReasonTooManyDomainsUnhealthy

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

	// VSphereClusterVCenterUnreachableReason: the vCenter does not answer.
	VSphereClusterVCenterUnreachableReason = VCenterUnreachableReason

	// VSphereClusterVCenterAvailableDeletingReason: the cluster is being
	// deleted.
	VSphereClusterVCenterAvailableDeletingReason = clusterv1.DeletingReason
)

// Condition ClusterModulesReady of a VSphereCluster.
const (
	// VSphereClusterClusterModulesReadyCondition tells whether the cluster
	// modules are set up.
	VSphereClusterClusterModulesReadyCondition = "ClusterModulesReady"

	// VSphereClusterClusterModulesReadyReason: they are.
	VSphereClusterClusterModulesReadyReason = clusterv1.ReadyReason

	// VSphereClusterModulesInvalidVCenterVersionReason: the vCenter is too old.
	VSphereClusterModulesInvalidVCenterVersionReason = "InvalidVCenterVersion"

	// VSphereClusterClusterModulesNotReadyReason: they are not set up.
	VSphereClusterClusterModulesNotReadyReason = clusterv1.NotReadyReason

	// VSphereClusterClusterModulesDeletingReason: the cluster is being deleted.
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

	// VSphereClusterIdentitySettingSecretOwnerReferenceFailedReason: the Secret
	// could not be taken.
	VSphereClusterIdentitySettingSecretOwnerReferenceFailedReason = "SettingSecretOwnerReferenceFailed"

	// VSphereClusterIdentityDeletingReason: the identity is being deleted.
	VSphereClusterIdentityDeletingReason = clusterv1.DeletingReason
)
