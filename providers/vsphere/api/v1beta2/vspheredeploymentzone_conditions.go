// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Condition Ready of a VSphereDeploymentZone sums up VCenterAvailable,
// PlacementConstraintReady and FailureDomainValidated.
const (
	// VSphereDeploymentZoneReadyCondition is true when machines can be put in
	// the zone.
	VSphereDeploymentZoneReadyCondition = clusterv1.ReadyCondition

	// VSphereDeploymentZoneReadyReason: they can.
	VSphereDeploymentZoneReadyReason = clusterv1.ReadyReason

	// VSphereDeploymentZoneNotReadyReason: something is wrong with the zone.
	VSphereDeploymentZoneNotReadyReason = clusterv1.NotReadyReason

	// VSphereDeploymentZoneReadyUnknownReason: the zone cannot be checked.
	VSphereDeploymentZoneReadyUnknownReason = clusterv1.ReadyUnknownReason
)

// Condition VCenterAvailable of a VSphereDeploymentZone. See also the reasons
// that several kinds have.
const (
	// VSphereDeploymentZoneVCenterAvailableCondition tells whether the vCenter
	// can be asked about the zone. When it cannot, the zone keeps the outcome
	// of the last check.
	VSphereDeploymentZoneVCenterAvailableCondition = "VCenterAvailable"

	// VSphereDeploymentZoneVCenterAvailableReason: it can.
	VSphereDeploymentZoneVCenterAvailableReason = clusterv1.AvailableReason

	// VSphereDeploymentZoneVCenterUnreachableReason: the vCenter does not
	// answer.
	VSphereDeploymentZoneVCenterUnreachableReason = VCenterUnreachableReason

	// VSphereDeploymentZoneVCenterAvailableDeletingReason: the zone is being
	// deleted.
	VSphereDeploymentZoneVCenterAvailableDeletingReason = clusterv1.DeletingReason
)

// Condition PlacementConstraintReady of a VSphereDeploymentZone sums up
// ResourcePoolReady and FolderReady: its reason is the first problem, its
// message has them all.
const (
	// VSphereDeploymentZonePlacementConstraintReadyCondition tells whether
	// resource pool and folder are there.
	VSphereDeploymentZonePlacementConstraintReadyCondition = "PlacementConstraintReady"

	// VSphereDeploymentZonePlacementConstraintReadyReason: they are.
	VSphereDeploymentZonePlacementConstraintReadyReason = clusterv1.ReadyReason

	// VSphereDeploymentZonePlacementConstraintResourcePoolNotFoundReason: the
	// resource pool is not there, or not in the compute cluster.
	VSphereDeploymentZonePlacementConstraintResourcePoolNotFoundReason = ResourcePoolNotFoundReason

	// VSphereDeploymentZonePlacementConstraintFolderNotFoundReason: the folder
	// is not there.
	VSphereDeploymentZonePlacementConstraintFolderNotFoundReason = FolderNotFoundReason

	// VSphereDeploymentZonePlacementConstraintDeletingReason: the zone is being
	// deleted.
	VSphereDeploymentZonePlacementConstraintDeletingReason = clusterv1.DeletingReason
)

// Condition FailureDomainValidated of a VSphereDeploymentZone sums up the
// checks of the failure domain: its reason is the first problem, its message
// has them all.
const (
	// VSphereDeploymentZoneFailureDomainValidatedCondition tells whether the
	// failure domain is in the vCenter as its spec says.
	VSphereDeploymentZoneFailureDomainValidatedCondition = "FailureDomainValidated"

	// VSphereDeploymentZoneFailureDomainValidatedReason: it is.
	VSphereDeploymentZoneFailureDomainValidatedReason = "Validated"

	// VSphereDeploymentZoneFailureDomainValidationFailedReason: it could not be
	// checked.
	VSphereDeploymentZoneFailureDomainValidationFailedReason = "ValidationFailed"

	// VSphereDeploymentZoneFailureDomainNotFoundReason: there is no
	// VSphereFailureDomain of that name.
	VSphereDeploymentZoneFailureDomainNotFoundReason = FailureDomainNotFoundReason

	// VSphereDeploymentZoneFailureDomainDatacenterNotFoundReason: the
	// datacenter is not there.
	VSphereDeploymentZoneFailureDomainDatacenterNotFoundReason = DatacenterNotFoundReason

	// VSphereDeploymentZoneFailureDomainComputeClusterNotFoundReason: the
	// compute cluster is not there.
	VSphereDeploymentZoneFailureDomainComputeClusterNotFoundReason = ComputeClusterNotFoundReason

	// VSphereDeploymentZoneFailureDomainResourcePoolNotFoundReason: the
	// resource pool is not in the compute cluster.
	VSphereDeploymentZoneFailureDomainResourcePoolNotFoundReason = ResourcePoolNotFoundReason

	// VSphereDeploymentZoneFailureDomainDatastoreNotFoundReason: the datastore
	// is not there, or cannot be reached from the hosts.
	VSphereDeploymentZoneFailureDomainDatastoreNotFoundReason = DatastoreNotFoundReason

	// VSphereDeploymentZoneFailureDomainNetworkNotFoundReason: a network is not
	// there, or cannot be reached from the hosts.
	VSphereDeploymentZoneFailureDomainNetworkNotFoundReason = NetworkNotFoundReason

	// VSphereDeploymentZoneFailureDomainRegionMisconfiguredReason: the tag of
	// the region is not there, or not on the objects it should be on.
	VSphereDeploymentZoneFailureDomainRegionMisconfiguredReason = "RegionMisconfigured"

	// VSphereDeploymentZoneFailureDomainZoneMisconfiguredReason: the tag of the
	// zone is not there, or not on the objects it should be on.
	VSphereDeploymentZoneFailureDomainZoneMisconfiguredReason = "ZoneMisconfigured"

	// VSphereDeploymentZoneFailureDomainTemplateNotFoundReason: the template is
	// not there.
	VSphereDeploymentZoneFailureDomainTemplateNotFoundReason = "TemplateNotFound"

	// VSphereDeploymentZoneFailureDomainHostsMisconfiguredReason: host group,
	// VM group or the rule between them is not there, is disabled, or does not
	// bind.
	VSphereDeploymentZoneFailureDomainHostsMisconfiguredReason = "HostsMisconfigured"

	// VSphereDeploymentZoneFailureDomainNoUsableHostReason: every host is
	// disconnected or in maintenance.
	VSphereDeploymentZoneFailureDomainNoUsableHostReason = "NoUsableHost"

	// VSphereDeploymentZoneFailureDomainDeletingReason: the zone is being
	// deleted.
	VSphereDeploymentZoneFailureDomainDeletingReason = clusterv1.DeletingReason
)

// Conditions of a VSphereDeploymentZone, one for each thing that is checked.
// All are checked each time: one problem does not hide another. When false,
// the reason is one of PlacementConstraintReady or FailureDomainValidated.
const (
	// VSphereDeploymentZoneDatacenterReadyCondition: the datacenter is there.
	VSphereDeploymentZoneDatacenterReadyCondition = "DatacenterReady"

	// VSphereDeploymentZoneComputeClusterReadyCondition: the compute cluster is
	// there.
	VSphereDeploymentZoneComputeClusterReadyCondition = "ComputeClusterReady"

	// VSphereDeploymentZoneResourcePoolReadyCondition: the resource pool is
	// there and in the compute cluster.
	VSphereDeploymentZoneResourcePoolReadyCondition = "ResourcePoolReady"

	// VSphereDeploymentZoneFolderReadyCondition: the folder is there.
	VSphereDeploymentZoneFolderReadyCondition = "FolderReady"

	// VSphereDeploymentZoneDatastoreReadyCondition: the datastore is there and
	// can be reached from the hosts.
	VSphereDeploymentZoneDatastoreReadyCondition = "DatastoreReady"

	// VSphereDeploymentZoneNetworksReadyCondition: the networks are there and
	// can be reached from the hosts.
	VSphereDeploymentZoneNetworksReadyCondition = "NetworksReady"

	// VSphereDeploymentZoneRegionReadyCondition: the region's tag is where it
	// should be.
	VSphereDeploymentZoneRegionReadyCondition = "RegionReady"

	// VSphereDeploymentZoneZoneReadyCondition: the zone's tag is where it
	// should be.
	VSphereDeploymentZoneZoneReadyCondition = "ZoneReady"

	// VSphereDeploymentZoneHostsReadyCondition: groups and rule are as they
	// should be, and a host can be used.
	VSphereDeploymentZoneHostsReadyCondition = "HostsReady"

	// VSphereDeploymentZoneTemplateReadyCondition: the template of the failure
	// domain is there.
	VSphereDeploymentZoneTemplateReadyCondition = "TemplateReady"

	// VSphereDeploymentZonePlacedExplicitlyReason: HostsReady is true, but it is
	// not DRS that keeps machines in the host group: each is put on one of its
	// hosts, and looked at after it has started.
	VSphereDeploymentZonePlacedExplicitlyReason = "PlacedExplicitly"

	// VSphereDeploymentZoneCheckReadyReason: the check found nothing wrong.
	VSphereDeploymentZoneCheckReadyReason = clusterv1.ReadyReason

	// VSphereDeploymentZoneNotCheckedReason: the check has not been made yet.
	VSphereDeploymentZoneNotCheckedReason = "NotChecked"
)
