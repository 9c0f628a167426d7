// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition BaremetalInfrastructureReady of a Metal3Cluster.
const (
	// Metal3ClusterBaremetalInfrastructureReadyCondition reports whether machines can be created.
	Metal3ClusterBaremetalInfrastructureReadyCondition = "BaremetalInfrastructureReady"

	// Metal3ClusterBaremetalInfrastructureReadyReason surfaces when machines can be created.
	Metal3ClusterBaremetalInfrastructureReadyReason = clusterv1.ReadyReason

	// Metal3ClusterControlPlaneEndpointFailedReason surfaces when the host or port of the control plane endpoint is missing.
	Metal3ClusterControlPlaneEndpointFailedReason = "ControlPlaneEndpointFailed"

	// Metal3ClusterWaitingForMachinesReason surfaces when the cluster is being deleted and still has machines.
	Metal3ClusterWaitingForMachinesReason = "WaitingForMachines"
)

// Condition FailureDomainsReady of a Metal3Cluster. A failure domain that is not Active because of its health has one of these
// reasons.
const (
	// Metal3ClusterFailureDomainsReadyCondition reports whether machines can be placed in all failure domains of the cluster.
	Metal3ClusterFailureDomainsReadyCondition = faultlinev1.FailureDomainsReadyCondition

	// Metal3ClusterFailureDomainsNotActiveReason surfaces when an unhealthy failure domain receives no machines.
	Metal3ClusterFailureDomainsNotActiveReason = faultlinev1.ReasonDomainsNotActive

	// Metal3ClusterLastControlPlaneDomainReason surfaces when the last control plane failure domain is kept although it should be
	// removed.
	Metal3ClusterLastControlPlaneDomainReason = faultlinev1.ReasonLastControlPlaneDomain

	// Metal3ClusterFailureDomainsWithoutHostsReason surfaces when no BareMetalHost is labelled with any of the failure domains
	// yet.
	Metal3ClusterFailureDomainsWithoutHostsReason = FailureDomainWithoutHostsReason
)

// Condition LabelPrefixesRefused of a Metal3Cluster. It exists only while annotation metal3.io/metal3-label-sync-prefixes lists
// label prefixes that must not be copied to Nodes.
const (
	// Metal3ClusterLabelPrefixesRefusedCondition lists the refused label prefixes.
	Metal3ClusterLabelPrefixesRefusedCondition = "LabelPrefixesRefused"

	// LabelPrefixRefusedReason surfaces when the prefix is not a DNS subdomain or is reserved for Kubernetes. Condition
	// HostLabelsRefused of a Metal3Machine uses it, too.
	LabelPrefixRefusedReason = "LabelPrefixRefused"
)

// Reasons why a machine waits for a host. Condition AssociateBareMetalHost of a Metal3Machine uses them, and failure domains of a
// Metal3Cluster use some of them. WaitsFor in package placement lists them all.
const (
	// FailureDomainNotFoundReason surfaces when the Metal3Cluster does not list the failure domain and no BareMetalHost is
	// labelled with it.
	FailureDomainNotFoundReason = "FailureDomainNotFound"

	// FailureDomainNotReadyReason surfaces when the failure domain is Cordoned or Evicting.
	FailureDomainNotReadyReason = faultlinev1.ReasonFailureDomainNotReady

	// FailureDomainNotNamedReason surfaces when a control plane Machine names no failure domain although its cluster has control
	// plane failure domains.
	FailureDomainNotNamedReason = faultlinev1.ReasonFailureDomainNotNamed

	// FailureDomainNotAssignedReason surfaces when a worker Machine names no failure domain and has not been assigned one yet.
	FailureDomainNotAssignedReason = faultlinev1.ReasonFailureDomainNotAssigned

	// FailureDomainWithoutHostsReason surfaces when no BareMetalHost is labelled with the failure domain.
	FailureDomainWithoutHostsReason = "FailureDomainWithoutHosts"

	// FailureDomainHostsUnhealthyReason surfaces when every host of the failure domain is in error, without power or out of
	// service.
	FailureDomainHostsUnhealthyReason = "FailureDomainHostsUnhealthy"

	// NoCapacityReason surfaces when matching hosts exist but none of them is free.
	NoCapacityReason = "NoCapacity"

	// Metal3MachineHostRefusedReason surfaces when the API server rejects the claim of a free host and no other host is free.
	Metal3MachineHostRefusedReason = "BareMetalHostRefused"

	// Metal3MachineTemplateNotFoundReason surfaces when the template of the machine was deleted before its data was claimed and
	// its owner has no other template. Condition Metal3DataReady uses it once the machine has a host.
	Metal3MachineTemplateNotFoundReason = "Metal3MachineTemplateNotFound"
)
