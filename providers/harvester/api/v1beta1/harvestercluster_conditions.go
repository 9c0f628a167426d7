// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Condition HarvesterConnectionReady of a HarvesterCluster. Its reasons also
// surface on condition InfrastructureReady of a HarvesterMachine while they
// keep the machine from being reconciled.
const (
	// HarvesterConnectionReadyCondition reports whether Harvester is usable.
	// It is Unknown while the caches of Harvester may be stale.
	HarvesterConnectionReadyCondition = "HarvesterConnectionReady"

	// HarvesterConnectionReadyReason surfaces when Harvester is usable.
	HarvesterConnectionReadyReason = "HarvesterConnectionReady"

	// HarvesterConnectingReason surfaces while the connection is being
	// established.
	HarvesterConnectingReason = "HarvesterConnecting"

	// HarvesterConnectionFailedReason surfaces when Harvester does not
	// respond.
	HarvesterConnectionFailedReason = "HarvesterConnectionFailed"
	// HarvesterSilentReason surfaces when Harvester responds but sends no
	// watch events.
	HarvesterSilentReason = "HarvesterSilent"

	// HarvesterAuthenticationFailedReason surfaces when Harvester rejects the
	// credentials because they expired or belong to another Harvester.
	HarvesterAuthenticationFailedReason = "HarvesterAuthenticationFailed"

	// HarvesterAccessDeniedReason surfaces when the credentials lack a
	// permission. The message names it.
	HarvesterAccessDeniedReason = "HarvesterAccessDenied"

	// IdentitySecretNotFoundReason surfaces when the Secret named by
	// spec.identitySecret does not exist.
	IdentitySecretNotFoundReason = "IdentitySecretNotFound"

	// IdentitySecretNotAllowedReason surfaces when the Secret named by
	// spec.identitySecret is in another namespace and its annotation
	// allowed-namespaces does not list the namespace of the HarvesterCluster.
	IdentitySecretNotAllowedReason = "IdentitySecretNotAllowed"

	// KubeconfigInvalidReason surfaces when the Secret has no key kubeconfig
	// or its value is not a usable kubeconfig.
	KubeconfigInvalidReason = "KubeconfigInvalid"

	// NotHarvesterReason surfaces when the API server lacks the kinds of
	// Harvester.
	NotHarvesterReason = "NotHarvester"

	// AnotherHarvesterReason surfaces when the kubeconfig leads to a
	// Harvester other than the one that runs the machines of the cluster.
	AnotherHarvesterReason = "AnotherHarvester"
)

// Condition TargetNamespaceReady of a HarvesterCluster.
const (
	// TargetNamespaceReadyCondition reports whether spec.targetNamespace
	// exists.
	TargetNamespaceReadyCondition = "TargetNamespaceReady"

	// TargetNamespaceReadyReason surfaces when the namespace exists.
	TargetNamespaceReadyReason = "TargetNamespaceReady"

	// TargetNamespaceNotReadyReason surfaces when the namespace does not
	// exist or is being deleted.
	TargetNamespaceNotReadyReason = "TargetNamespaceNotReady"
)

// Condition LoadBalancerReady of a HarvesterCluster. The reasons
// IPPoolNotFound, IPPoolNotOurs and VMIPPoolExhausted surface on it, too.
const (
	// LoadBalancerReadyCondition reports whether the control-plane endpoint
	// is known and, if Harvester provides it, leads to the machines.
	LoadBalancerReadyCondition = "LoadBalancerReady"

	// LoadBalancerReadyReason surfaces when the endpoint is known and works.
	LoadBalancerReadyReason = "LoadBalancerReady"

	// ControlPlaneEndpointGivenReason surfaces when the cluster has no load
	// balancer and spec.controlPlaneEndpoint is set.
	ControlPlaneEndpointGivenReason = "ControlPlaneEndpointGiven"

	// ControlPlaneEndpointMissingReason surfaces when neither
	// spec.loadBalancerConfig nor spec.controlPlaneEndpoint is set.
	ControlPlaneEndpointMissingReason = "ControlPlaneEndpointMissing"

	// LoadBalancerNotReadyReason surfaces while the load balancer is being
	// created or Harvester reports it as not ready.
	LoadBalancerNotReadyReason = "LoadBalancerNotReady"

	// WaitingForLoadBalancerAddressReason surfaces while the load balancer
	// has no address.
	WaitingForLoadBalancerAddressReason = "WaitingForLoadBalancerAddress"

	// LoadBalancerNoBackendMachineReason surfaces while no control plane
	// machine runs.
	LoadBalancerNoBackendMachineReason = "LoadBalancerNoBackendMachine"

	// LoadBalancerHealthcheckFailedReason surfaces when no machine responds
	// to health checks.
	LoadBalancerHealthcheckFailedReason = "LoadBalancerHealthcheckFailed"

	// LoadBalancerNotOursReason surfaces when a load balancer or Service of
	// the same name has another owner.
	LoadBalancerNotOursReason = "LoadBalancerNotOurs"

	// LoadBalancerRefusedReason surfaces when Harvester rejects the load
	// balancer.
	LoadBalancerRefusedReason = "LoadBalancerRefused"

	// LoadBalancerAddressChangedReason surfaces when the address of the load
	// balancer differs from spec.controlPlaneEndpoint, which is not changed.
	LoadBalancerAddressChangedReason = "LoadBalancerAddressChanged"
)

// Conditions CustomIPPoolCreated, VMIPPoolReady and
// VMIPPoolCreatedByController of a HarvesterCluster. Each exists only when
// the cluster uses such a pool.
const (
	// CustomIPPoolCreatedCondition reports whether the pool of
	// spec.loadBalancerConfig.ipPool exists.
	CustomIPPoolCreatedCondition = "CustomIPPoolCreated"

	// CustomIPPoolCreatedSuccessfullyReason surfaces when the pool exists.
	CustomIPPoolCreatedSuccessfullyReason = "CustomIPPoolCreatedSuccessfully"

	// CustomPoolCreationInHarvesterFailedReason surfaces when Harvester
	// rejects the pool.
	CustomPoolCreationInHarvesterFailedReason = "CustomPoolCreationInHarvesterFailed"

	// VMIPPoolReadyCondition reports whether the IPPools for machines exist.
	VMIPPoolReadyCondition = "VMIPPoolReady"

	// VMIPPoolReadyReason surfaces when the pools exist.
	VMIPPoolReadyReason = "VMIPPoolReady"

	// VMIPPoolCreationFailedReason surfaces when Harvester rejects the pool
	// of spec.vmNetworkConfig.ipPool.
	VMIPPoolCreationFailedReason = "VMIPPoolCreationFailed"

	// VMIPPoolCreatedByControllerCondition reports that the pool of
	// spec.vmNetworkConfig.ipPool was created for the cluster and is deleted
	// with it.
	VMIPPoolCreatedByControllerCondition = "VMIPPoolCreatedByController"

	// VMIPPoolCreatedByControllerReason surfaces when the pool was created
	// for the cluster.
	VMIPPoolCreatedByControllerReason = "VMIPPoolCreatedByController"

	// IPPoolNotOursReason surfaces when a pool with the name of the pool to
	// create has another owner.
	IPPoolNotOursReason = "IPPoolNotOurs"
)

// Condition CloudProviderConfigReady of a HarvesterCluster. It exists only
// while spec.updateCloudProviderConfig is set or objects created for it
// remain.
const (
	// CloudProviderConfigReadyCondition reports whether the manifests of
	// Harvester's cloud provider contain its kubeconfig.
	CloudProviderConfigReadyCondition = "CloudProviderConfigReady"

	// CloudProviderConfigGeneratedSuccessfullyReason surfaces when the
	// manifests contain the kubeconfig.
	CloudProviderConfigGeneratedSuccessfullyReason = "CloudProviderConfigGeneratedSuccessfully"

	// CloudProviderConfigNotReadyReason surfaces when the ConfigMap, or
	// Harvester's own address, is missing.
	CloudProviderConfigNotReadyReason = "CloudProviderConfigNotReady"

	// CloudProviderConfigNotAllowedReason surfaces when the cluster may not
	// change ConfigMaps or Secrets in the namespace, or when the ConfigMap or
	// Secret is not marked as one for a cloud provider.
	CloudProviderConfigNotAllowedReason = "CloudProviderConfigNotAllowed"

	// CloudProviderConfigGenerationFailedReason surfaces when Harvester or
	// the API server rejects an object that is needed.
	CloudProviderConfigGenerationFailedReason = "CloudProviderConfigGenerationFailed"

	// CloudProviderConfigNotRemovedReason surfaces when
	// spec.updateCloudProviderConfig was removed and Harvester refuses to
	// delete the account.
	CloudProviderConfigNotRemovedReason = "CloudProviderConfigNotRemoved"
)

// Condition InfrastructureReady, of HarvesterClusters and HarvesterMachines.
const (
	// InfrastructureReadyCondition of a HarvesterCluster reports whether
	// Machines can be created; that of a HarvesterMachine whether the virtual
	// machine runs and its Node has its provider ID.
	InfrastructureReadyCondition = "InfrastructureReady"

	// InfrastructureReadyReason surfaces when the infrastructure is ready.
	InfrastructureReadyReason = "InfrastructureReady"

	// InfrastructureProvisioningInProgressReason surfaces while the
	// infrastructure is not ready. Another condition reports why.
	InfrastructureProvisioningInProgressReason = "InfrastructureProvisioningInProgress"

	// WaitingForMachinesReason surfaces when the HarvesterCluster is being
	// deleted and still has machines.
	WaitingForMachinesReason = "WaitingForMachines"

	// DeletingReason surfaces when the object is being deleted.
	DeletingReason = clusterv1.DeletingReason

	// DeletionBlockedReason surfaces when the object is being deleted and its
	// objects on Harvester cannot be deleted because Harvester is unusable.
	// The message explains how to continue without Harvester.
	DeletionBlockedReason = "DeletionBlocked"

	// LoadBalancersKeptReason is used in an event when load balancers of
	// Services stay on Harvester although the cluster is deleted, because
	// another HarvesterCluster has the same workload cluster.
	LoadBalancersKeptReason = "LoadBalancersKept"
)

// Condition Ready, of HarvesterClusters and HarvesterMachines, summarizes the
// other conditions.
const (
	// ReadyCondition is true when all other conditions are true.
	ReadyCondition = clusterv1.ReadyCondition

	// NotReadyReason surfaces when another condition is not true.
	NotReadyReason = clusterv1.NotReadyReason
)

// Conditions and reasons of upstream that this provider does not use. They
// exist for clients that compile against them.
const (
	// InitMachineCreatedCondition reported whether the first machine was
	// created.
	InitMachineCreatedCondition = "InitMachineCreated"

	// FleetIntegrationReadyCondition reported whether labels were copied to
	// Rancher.
	FleetIntegrationReadyCondition = "FleetIntegrationReady"
)
