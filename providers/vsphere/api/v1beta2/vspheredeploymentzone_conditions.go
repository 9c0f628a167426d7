// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
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

	// VSphereDeploymentZoneFailureDomainNotFoundReason: there is no
	// VSphereFailureDomain of that name.
	VSphereDeploymentZoneFailureDomainNotFoundReason = FailureDomainNotFoundReason
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

// Condition AutoConfigured of a VSphereDeploymentZone, which only zones have
// whose failure domain has something made in vCenter.
const (
	// VSphereDeploymentZoneAutoConfiguredCondition tells whether what is to be
	// made in vCenter has been made, and is as it was made.
	VSphereDeploymentZoneAutoConfiguredCondition = "AutoConfigured"

	// VSphereDeploymentZoneAutoConfiguredReason: it has, and is.
	VSphereDeploymentZoneAutoConfiguredReason = "Configured"

	// VSphereDeploymentZoneConfiguringReason: it is being made, or removed.
	VSphereDeploymentZoneConfiguringReason = "Configuring"

	// VSphereDeploymentZoneConfigurationRefusedReason: vCenter refuses it, or
	// there is nothing that it could be made of.
	VSphereDeploymentZoneConfigurationRefusedReason = "ConfigurationRefused"

	// VSphereDeploymentZoneConfigurationDriftedReason: somebody has changed or
	// removed what was made, and drift of the failure domain is Report.
	VSphereDeploymentZoneConfigurationDriftedReason = "ConfigurationDrifted"

	// VSphereDeploymentZoneConfiguredInUseReason: the zone is being deleted, and
	// what was made for it still has something else in it.
	VSphereDeploymentZoneConfiguredInUseReason = "ConfiguredInUse"
)
