// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Reasons that conditions of several kinds have.
const (
	// VCenterConnectingReason: the first login to the vCenter, or the first
	// reading of its inventory, is under way.
	VCenterConnectingReason = "VCenterConnecting"

	// VCenterUnreachableReason: the vCenter does not answer.
	VCenterUnreachableReason = "VCenterUnreachable"

	// CredentialsInvalidReason: the vCenter refuses user name or password.
	CredentialsInvalidReason = "CredentialsInvalid"

	// ThumbprintMismatchReason: the vCenter shows another certificate than the
	// one that the thumbprint is of.
	ThumbprintMismatchReason = "ThumbprintMismatch"

	// CertificateNotTrustedReason: no thumbprint is given, and no authority that
	// the manager trusts vouches for the vCenter's certificate.
	CertificateNotTrustedReason = "CertificateNotTrusted"

	// TooManySessionsReason: the namespace has as many sessions on vCenters as
	// one may have, and the object needs another.
	TooManySessionsReason = "TooManySessions"

	// PrivilegeMissingReason: the account lacks a privilege; the message says
	// which, if vCenter does.
	PrivilegeMissingReason = "PrivilegeMissing"

	// FailureDomainNotFoundReason: the VSphereDeploymentZone, or the
	// VSphereFailureDomain that it names, does not exist.
	FailureDomainNotFoundReason = "FailureDomainNotFound"

	// DatacenterNotFoundReason: the datacenter does not exist.
	DatacenterNotFoundReason = "DatacenterNotFound"

	// ComputeClusterNotFoundReason: the compute cluster does not exist.
	ComputeClusterNotFoundReason = "ComputeClusterNotFound"

	// ResourcePoolNotFoundReason: the resource pool does not exist, is not of
	// the compute cluster, or cannot be told among several.
	ResourcePoolNotFoundReason = "ResourcePoolNotFound"

	// FolderNotFoundReason: the folder does not exist.
	FolderNotFoundReason = "FolderNotFound"

	// DatastoreNotFoundReason: the datastore does not exist, cannot be reached
	// from the hosts, or cannot be told among several.
	DatastoreNotFoundReason = "DatastoreNotFound"

	// NetworkNotFoundReason: a network does not exist or cannot be reached
	// from the hosts.
	NetworkNotFoundReason = "NetworkNotFound"
)
