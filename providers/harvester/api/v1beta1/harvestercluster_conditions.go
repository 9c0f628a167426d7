// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Condition HarvesterConnectionReady of a HarvesterCluster. Condition
// InfrastructureReady of a HarvesterMachine has its reasons, too, while they keep
// the machine from being looked after.
const (
	// HarvesterConnectionReadyCondition tells whether Harvester can be used. It
	// is Unknown while what is known of Harvester may be old.
	HarvesterConnectionReadyCondition = "HarvesterConnectionReady"

	// HarvesterConnectionReadyReason: it can.
	HarvesterConnectionReadyReason = "HarvesterConnectionReady"

	// HarvesterConnectingReason: the connection is being made.
	HarvesterConnectingReason = "HarvesterConnecting"

	// HarvesterConnectionFailedReason: Harvester does not answer.
	HarvesterConnectionFailedReason = "HarvesterConnectionFailed"
	// HarvesterSilentReason: Harvester answers, and tells nothing of what changes there.
	HarvesterSilentReason = "HarvesterSilent"

	// HarvesterAuthenticationFailedReason: Harvester does not accept the
	// credentials, which have expired or are another Harvester's.
	HarvesterAuthenticationFailedReason = "HarvesterAuthenticationFailed"

	// HarvesterAccessDeniedReason: the credentials lack a right. The message
	// names it.
	HarvesterAccessDeniedReason = "HarvesterAccessDenied"

	// IdentitySecretNotFoundReason: the Secret that spec.identitySecret names
	// does not exist.
	IdentitySecretNotFoundReason = "IdentitySecretNotFound"

	// IdentitySecretNotAllowedReason: the Secret that spec.identitySecret names
	// is in another namespace, and its annotation allowed-namespaces does not name
	// that of the HarvesterCluster.
	IdentitySecretNotAllowedReason = "IdentitySecretNotAllowed"

	// KubeconfigInvalidReason: the Secret has no key kubeconfig, or what it holds
	// is none that can be used.
	KubeconfigInvalidReason = "KubeconfigInvalid"

	// NotHarvesterReason: what answers is a Kubernetes that lacks the kinds of
	// Harvester.
	NotHarvesterReason = "NotHarvester"

	// AnotherHarvesterReason: the kubeconfig leads to another Harvester than the
	// one that has the cluster's machines.
	AnotherHarvesterReason = "AnotherHarvester"
)

// Condition TargetNamespaceReady of a HarvesterCluster.
const (
	// TargetNamespaceReadyCondition tells whether spec.targetNamespace is there.
	TargetNamespaceReadyCondition = "TargetNamespaceReady"

	// TargetNamespaceReadyReason: it is.
	TargetNamespaceReadyReason = "TargetNamespaceReady"

	// TargetNamespaceNotReadyReason: it is not, or is being deleted.
	TargetNamespaceNotReadyReason = "TargetNamespaceNotReady"
)

// Condition LoadBalancerReady of a HarvesterCluster. It has also IPPoolNotFound,
// IPPoolNotOurs and VMIPPoolExhausted.
const (
	// LoadBalancerReadyCondition tells whether the control-plane endpoint is
	// known and, when Harvester makes it, leads to the machines.
	LoadBalancerReadyCondition = "LoadBalancerReady"

	// LoadBalancerReadyReason: it is and does.
	LoadBalancerReadyReason = "LoadBalancerReady"

	// ControlPlaneEndpointGivenReason: there is no load balancer, and
	// spec.controlPlaneEndpoint is given.
	ControlPlaneEndpointGivenReason = "ControlPlaneEndpointGiven"

	// ControlPlaneEndpointMissingReason: there is neither
	// spec.loadBalancerConfig nor spec.controlPlaneEndpoint.
	ControlPlaneEndpointMissingReason = "ControlPlaneEndpointMissing"

	// LoadBalancerNotReadyReason: it is being made, or Harvester reports it as
	// not ready.
	LoadBalancerNotReadyReason = "LoadBalancerNotReady"

	// WaitingForLoadBalancerAddressReason: it has no address yet.
	WaitingForLoadBalancerAddressReason = "WaitingForLoadBalancerAddress"

	// LoadBalancerNoBackendMachineReason: no machine of the control plane runs
	// yet.
	LoadBalancerNoBackendMachineReason = "LoadBalancerNoBackendMachine"

	// LoadBalancerHealthcheckFailedReason: no machine answers.
	LoadBalancerHealthcheckFailedReason = "LoadBalancerHealthcheckFailed"

	// LoadBalancerNotOursReason: a load balancer or Service of its name is
	// somebody else's.
	LoadBalancerNotOursReason = "LoadBalancerNotOurs"

	// LoadBalancerRefusedReason: Harvester refuses it.
	LoadBalancerRefusedReason = "LoadBalancerRefused"

	// LoadBalancerAddressChangedReason: it has another address than
	// spec.controlPlaneEndpoint, which stays what it is.
	LoadBalancerAddressChangedReason = "LoadBalancerAddressChanged"
)

// Conditions CustomIPPoolCreated, VMIPPoolReady and VMIPPoolCreatedByController
// of a HarvesterCluster. Each is there only when the cluster has such a pool.
const (
	// CustomIPPoolCreatedCondition tells whether the pool of
	// spec.loadBalancerConfig.ipPool exists.
	CustomIPPoolCreatedCondition = "CustomIPPoolCreated"

	// CustomIPPoolCreatedSuccessfullyReason: it does.
	CustomIPPoolCreatedSuccessfullyReason = "CustomIPPoolCreatedSuccessfully"

	// CustomPoolCreationInHarvesterFailedReason: Harvester refuses it.
	CustomPoolCreationInHarvesterFailedReason = "CustomPoolCreationInHarvesterFailed"

	// VMIPPoolReadyCondition tells whether the pools of addresses for machines
	// exist.
	VMIPPoolReadyCondition = "VMIPPoolReady"

	// VMIPPoolReadyReason: they do.
	VMIPPoolReadyReason = "VMIPPoolReady"

	// VMIPPoolCreationFailedReason: Harvester refuses the pool of
	// spec.vmNetworkConfig.ipPool.
	VMIPPoolCreationFailedReason = "VMIPPoolCreationFailed"

	// VMIPPoolCreatedByControllerCondition tells that the pool of
	// spec.vmNetworkConfig.ipPool was made for the cluster and goes with it.
	VMIPPoolCreatedByControllerCondition = "VMIPPoolCreatedByController"

	// VMIPPoolCreatedByControllerReason: it was.
	VMIPPoolCreatedByControllerReason = "VMIPPoolCreatedByController"

	// IPPoolNotOursReason: a pool of the name of one that is to be made is
	// somebody else's.
	IPPoolNotOursReason = "IPPoolNotOurs"
)

// Condition CloudProviderConfigReady of a HarvesterCluster. It is there only with
// spec.updateCloudProviderConfig, and until what was made for it is gone.
const (
	// CloudProviderConfigReadyCondition tells whether the manifests of
	// Harvester's cloud provider have their kubeconfig.
	CloudProviderConfigReadyCondition = "CloudProviderConfigReady"

	// CloudProviderConfigGeneratedSuccessfullyReason: they have.
	CloudProviderConfigGeneratedSuccessfullyReason = "CloudProviderConfigGeneratedSuccessfully"

	// CloudProviderConfigNotReadyReason: the ConfigMap, or Harvester's own
	// address, is not there.
	CloudProviderConfigNotReadyReason = "CloudProviderConfigNotReady"

	// CloudProviderConfigNotAllowedReason: the ConfigMap or Secret is in a
	// namespace in which the cluster may not have it changed, or does not show
	// that it is for a cloud provider.
	CloudProviderConfigNotAllowedReason = "CloudProviderConfigNotAllowed"

	// CloudProviderConfigGenerationFailedReason: Harvester, or the API server,
	// refuses what is needed.
	CloudProviderConfigGenerationFailedReason = "CloudProviderConfigGenerationFailed"

	// CloudProviderConfigNotRemovedReason: spec.updateCloudProviderConfig is
	// there no longer, and Harvester refuses to remove the account.
	CloudProviderConfigNotRemovedReason = "CloudProviderConfigNotRemoved"
)

// Condition InfrastructureReady, of HarvesterClusters and HarvesterMachines.
const (
	// InfrastructureReadyCondition of a HarvesterCluster tells whether machines
	// may be created; of a HarvesterMachine whether it runs and its Node has its
	// provider ID.
	InfrastructureReadyCondition = "InfrastructureReady"

	// InfrastructureReadyReason: they may, or it does.
	InfrastructureReadyReason = "InfrastructureReady"

	// InfrastructureProvisioningInProgressReason: not yet. Another condition
	// says why.
	InfrastructureProvisioningInProgressReason = "InfrastructureProvisioningInProgress"

	// WaitingForMachinesReason: the HarvesterCluster is being deleted and still
	// has machines.
	WaitingForMachinesReason = "WaitingForMachines"

	// DeletingReason: the object is being deleted.
	DeletingReason = clusterv1.DeletingReason

	// DeletionBlockedReason: the object is being deleted, and Harvester cannot
	// be asked to remove what it has there. The message says how to go on
	// without it.
	DeletionBlockedReason = "DeletionBlocked"

	// LoadBalancersKeptReason of an event: load balancers of Services stay on
	// Harvester although the cluster is deleted, because another
	// HarvesterCluster has the same workload cluster.
	LoadBalancersKeptReason = "LoadBalancersKept"
)

// Condition Ready, of HarvesterClusters and HarvesterMachines, sums up the
// others.
const (
	// ReadyCondition is true when all the other conditions are.
	ReadyCondition = clusterv1.ReadyCondition

	// NotReadyReason: a condition is not as it should be.
	NotReadyReason = clusterv1.NotReadyReason
)

// Conditions and reasons of upstream that no code of this provider uses. They
// are here for those who compile against them.
const (
	// InitMachineCreatedCondition told whether the first machine was created.
	InitMachineCreatedCondition = "InitMachineCreated"

	// FleetIntegrationReadyCondition told whether labels were copied to Rancher.
	FleetIntegrationReadyCondition = "FleetIntegrationReady"
)
