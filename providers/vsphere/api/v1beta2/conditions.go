// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Reasons shared by the conditions of several kinds.
const (
	// VCenterConnectingReason surfaces while the first login to the vCenter, or the first read of its inventory, is in
	// progress.
	VCenterConnectingReason = "VCenterConnecting"

	// VCenterUnreachableReason surfaces when the vCenter does not respond.
	VCenterUnreachableReason = "VCenterUnreachable"

	// VCenterChangedReason surfaces when another vCenter responds under the server's name than before.
	VCenterChangedReason = "VCenterChanged"

	// CredentialsInvalidReason surfaces when the vCenter rejects the user name or password.
	CredentialsInvalidReason = "CredentialsInvalid"

	// ThumbprintMismatchReason surfaces when the certificate of the vCenter does not match the thumbprint.
	ThumbprintMismatchReason = "ThumbprintMismatch"

	// CertificateNotTrustedReason surfaces when no thumbprint is set and the certificate of the vCenter is not signed by an
	// authority that the manager trusts.
	CertificateNotTrustedReason = "CertificateNotTrusted"

	// TooManySessionsReason surfaces when the namespace has reached the maximum number of vCenter sessions and the object needs
	// another.
	TooManySessionsReason = "TooManySessions"

	// PrivilegeMissingReason surfaces when the account lacks a privilege. The message names it if vCenter reports it.
	PrivilegeMissingReason = "PrivilegeMissing"

	// FailureDomainNotFoundReason surfaces when the VSphereDeploymentZone, or the VSphereFailureDomain that it names, does not
	// exist.
	FailureDomainNotFoundReason = "FailureDomainNotFound"

	// DatacenterNotFoundReason surfaces when the datacenter does not exist.
	DatacenterNotFoundReason = "DatacenterNotFound"

	// ComputeClusterNotFoundReason surfaces when the compute cluster does not exist.
	ComputeClusterNotFoundReason = "ComputeClusterNotFound"

	// ResourcePoolNotFoundReason surfaces when the resource pool does not exist, does not belong to the compute cluster, or is
	// ambiguous.
	ResourcePoolNotFoundReason = "ResourcePoolNotFound"

	// FolderNotFoundReason surfaces when the folder does not exist.
	FolderNotFoundReason = "FolderNotFound"

	// DatastoreNotFoundReason surfaces when the datastore does not exist, is not accessible from the hosts, or is ambiguous.
	DatastoreNotFoundReason = "DatastoreNotFound"

	// NetworkNotFoundReason surfaces when a network does not exist or is not accessible from the hosts.
	NetworkNotFoundReason = "NetworkNotFound"
)
