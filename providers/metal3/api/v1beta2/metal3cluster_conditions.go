// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition BaremetalInfrastructureReady of a Metal3Cluster.
const (
	// Metal3ClusterBaremetalInfrastructureReadyCondition tells whether machines
	// may be created.
	Metal3ClusterBaremetalInfrastructureReadyCondition = "BaremetalInfrastructureReady"

	// Metal3ClusterBaremetalInfrastructureReadyReason: they may.
	Metal3ClusterBaremetalInfrastructureReadyReason = clusterv1.ReadyReason

	// Metal3ClusterControlPlaneEndpointFailedReason: host or port of the
	// control-plane endpoint is missing.
	Metal3ClusterControlPlaneEndpointFailedReason = "ControlPlaneEndpointFailed"

	// Metal3ClusterWaitingForMachinesReason: the cluster is being deleted and
	// still has machines.
	Metal3ClusterWaitingForMachinesReason = "WaitingForMachines"
)

// Condition FailureDomainsReady of a Metal3Cluster. A domain that is not Active
// for its health has one of the reasons that follow.
const (
	// Metal3ClusterFailureDomainsReadyCondition tells whether machines can be
	// put in all of the cluster's failure domains.
	Metal3ClusterFailureDomainsReadyCondition = faultlinev1.FailureDomainsReadyCondition

	// Metal3ClusterFailureDomainsNotActiveReason: a domain receives none for its
	// health.
	Metal3ClusterFailureDomainsNotActiveReason = faultlinev1.ReasonDomainsNotActive

	// Metal3ClusterLastControlPlaneDomainReason: the last domain of control
	// planes is kept although it should go.
	Metal3ClusterLastControlPlaneDomainReason = faultlinev1.ReasonLastControlPlaneDomain

	// Metal3ClusterFailureDomainsWithoutHostsReason: no BareMetalHost has the
	// label of any domain yet.
	Metal3ClusterFailureDomainsWithoutHostsReason = FailureDomainWithoutHostsReason
)

// Condition LabelPrefixesRefused of a Metal3Cluster. It is there only while
// annotation metal3.io/metal3-label-sync-prefixes lists prefixes of labels that
// Nodes must not get from their hosts.
const (
	// Metal3ClusterLabelPrefixesRefusedCondition tells which they are.
	Metal3ClusterLabelPrefixesRefusedCondition = "LabelPrefixesRefused"

	// LabelPrefixRefusedReason: the prefix is no DNS subdomain, or is reserved
	// to Kubernetes. Condition HostLabelsRefused of a Metal3Machine has it too.
	LabelPrefixRefusedReason = "LabelPrefixRefused"
)

// Reasons why a machine waits for a host. Condition AssociateBareMetalHost of a
// Metal3Machine has them, and domains of a Metal3Cluster some. WaitsFor of package
// placement lists them all.
const (
	// FailureDomainNotFoundReason: the Metal3Cluster does not list the domain,
	// and no BareMetalHost has its label.
	FailureDomainNotFoundReason = "FailureDomainNotFound"

	// FailureDomainNotReadyReason: the domain is Cordoned or Evicting.
	FailureDomainNotReadyReason = faultlinev1.ReasonFailureDomainNotReady

	// FailureDomainNotNamedReason: a control plane's Machine names no domain,
	// although its cluster has some for control planes.
	FailureDomainNotNamedReason = faultlinev1.ReasonFailureDomainNotNamed

	// FailureDomainNotAssignedReason: a worker's Machine names no domain and has
	// not been assigned one yet.
	FailureDomainNotAssignedReason = faultlinev1.ReasonFailureDomainNotAssigned

	// FailureDomainWithoutHostsReason: no BareMetalHost has the label of the
	// domain.
	FailureDomainWithoutHostsReason = "FailureDomainWithoutHosts"

	// FailureDomainHostsUnhealthyReason: every host of the domain is in error,
	// without power or out of use.
	FailureDomainHostsUnhealthyReason = "FailureDomainHostsUnhealthy"

	// NoCapacityReason: there are hosts that suit, and none is free.
	NoCapacityReason = "NoCapacity"

	// Metal3MachineHostRefusedReason: the API server refuses to give the
	// machine a host that is free, and no other is.
	Metal3MachineHostRefusedReason = "BareMetalHostRefused"

	// Metal3MachineTemplateNotFoundReason: the template of the machine is gone
	// before its data was claimed, and its owner has no other. Condition
	// Metal3DataReady has it when the machine has a host.
	Metal3MachineTemplateNotFoundReason = "Metal3MachineTemplateNotFound"
)
