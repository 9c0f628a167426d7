// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// VSphereDeploymentZone's VCenterAvailable condition and corresponding reasons. See also the reasons shared by several kinds.
const (
	// VSphereDeploymentZoneVCenterAvailableCondition is true if the vCenter is available to check the zone. Otherwise the zone
	// keeps the result of the last check.
	VSphereDeploymentZoneVCenterAvailableCondition = "VCenterAvailable"

	// VSphereDeploymentZoneVCenterAvailableReason surfaces when the vCenter is available.
	VSphereDeploymentZoneVCenterAvailableReason = clusterv1.AvailableReason
)

// VSphereDeploymentZone's PlacementConstraintReady condition, which summarizes ResourcePoolReady and FolderReady. Its reason is
// that of the first problem; its message lists all problems.
const (
	// VSphereDeploymentZonePlacementConstraintReadyCondition is true if the resource pool and the folder exist.
	VSphereDeploymentZonePlacementConstraintReadyCondition = "PlacementConstraintReady"

	// VSphereDeploymentZonePlacementConstraintReadyReason surfaces when the resource pool and the folder exist.
	VSphereDeploymentZonePlacementConstraintReadyReason = clusterv1.ReadyReason
)

// VSphereDeploymentZone's FailureDomainValidated condition, which summarizes the checks of the failure domain. Its reason is
// that of the first problem; its message lists all problems.
const (
	// VSphereDeploymentZoneFailureDomainValidatedCondition is true if the failure domain matches its spec in vCenter.
	VSphereDeploymentZoneFailureDomainValidatedCondition = "FailureDomainValidated"

	// VSphereDeploymentZoneFailureDomainValidatedReason surfaces when the failure domain matches its spec.
	VSphereDeploymentZoneFailureDomainValidatedReason = "Validated"

	// VSphereDeploymentZoneFailureDomainNotFoundReason surfaces when the VSphereFailureDomain does not exist.
	VSphereDeploymentZoneFailureDomainNotFoundReason = FailureDomainNotFoundReason
)

// VSphereDeploymentZone's conditions for each check. All checks run each time, so that one problem does not hide another. If
// false, the reason is one of PlacementConstraintReady or FailureDomainValidated.
const (
	// VSphereDeploymentZoneDatacenterReadyCondition is true if the datacenter exists.
	VSphereDeploymentZoneDatacenterReadyCondition = "DatacenterReady"

	// VSphereDeploymentZoneComputeClusterReadyCondition is true if the compute cluster exists.
	VSphereDeploymentZoneComputeClusterReadyCondition = "ComputeClusterReady"

	// VSphereDeploymentZoneResourcePoolReadyCondition is true if the resource pool exists in the compute cluster.
	VSphereDeploymentZoneResourcePoolReadyCondition = "ResourcePoolReady"

	// VSphereDeploymentZoneFolderReadyCondition is true if the folder exists.
	VSphereDeploymentZoneFolderReadyCondition = "FolderReady"

	// VSphereDeploymentZoneDatastoreReadyCondition is true if the datastore exists and is accessible from the hosts.
	VSphereDeploymentZoneDatastoreReadyCondition = "DatastoreReady"

	// VSphereDeploymentZoneNetworksReadyCondition is true if the networks exist and are accessible from the hosts.
	VSphereDeploymentZoneNetworksReadyCondition = "NetworksReady"

	// VSphereDeploymentZoneRegionReadyCondition is true if the region's tag is attached to the objects that must carry it.
	VSphereDeploymentZoneRegionReadyCondition = "RegionReady"

	// VSphereDeploymentZoneZoneReadyCondition is true if the zone's tag is attached to the objects that must carry it.
	VSphereDeploymentZoneZoneReadyCondition = "ZoneReady"

	// VSphereDeploymentZoneHostsReadyCondition is true if the groups and their rule are configured correctly, and a host is
	// usable.
	VSphereDeploymentZoneHostsReadyCondition = "HostsReady"

	// VSphereDeploymentZoneTemplateReadyCondition is true if the template of the failure domain exists.
	VSphereDeploymentZoneTemplateReadyCondition = "TemplateReady"

	// VSphereDeploymentZonePlacedExplicitlyReason surfaces when HostsReady is true, but DRS does not keep machines in the host
	// group: each machine is placed on one of its hosts, and checked after it has started.
	VSphereDeploymentZonePlacedExplicitlyReason = "PlacedExplicitly"

	// VSphereDeploymentZoneCheckReadyReason surfaces when the check found no problem.
	VSphereDeploymentZoneCheckReadyReason = clusterv1.ReadyReason

	// VSphereDeploymentZoneNotCheckedReason surfaces when the check has not run yet.
	VSphereDeploymentZoneNotCheckedReason = "NotChecked"
)

// VSphereDeploymentZone's AutoConfigured condition, which exists only if the failure domain uses autoConfigure.
const (
	// VSphereDeploymentZoneAutoConfiguredCondition is true if everything that autoConfigure requests has been created in
	// vCenter and is unchanged.
	VSphereDeploymentZoneAutoConfiguredCondition = "AutoConfigured"

	// VSphereDeploymentZoneAutoConfiguredReason surfaces when everything has been created and is unchanged.
	VSphereDeploymentZoneAutoConfiguredReason = "Configured"

	// VSphereDeploymentZoneConfiguringReason surfaces while objects are being created or removed.
	VSphereDeploymentZoneConfiguringReason = "Configuring"

	// VSphereDeploymentZoneConfigurationRefusedReason surfaces when vCenter rejects a change, or its prerequisites do not
	// exist.
	VSphereDeploymentZoneConfigurationRefusedReason = "ConfigurationRefused"

	// VSphereDeploymentZoneConfigurationDriftedReason surfaces when another client has changed or removed what was created, and
	// the failure domain's drift policy is Report.
	VSphereDeploymentZoneConfigurationDriftedReason = "ConfigurationDrifted"

	// VSphereDeploymentZoneConfiguredInUseReason surfaces when the zone is being deleted, and what was created for it is still
	// in use.
	VSphereDeploymentZoneConfiguredInUseReason = "ConfiguredInUse"
)
