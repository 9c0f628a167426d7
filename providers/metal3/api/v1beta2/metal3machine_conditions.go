// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition Ready of a Metal3Machine summarizes the other conditions.
const (
	// Metal3MachineReadyCondition is true when all other conditions are true.
	Metal3MachineReadyCondition = clusterv1.ReadyCondition

	// Metal3MachineNotReadyReason surfaces when another condition is not true.
	Metal3MachineNotReadyReason = clusterv1.NotReadyReason
)

// Condition AssociateBareMetalHost of a Metal3Machine. While the machine waits for a host, the condition has one of these reasons
// or one of those declared with NoCapacityReason.
const (
	// Metal3MachineAssociateBareMetalHostCondition reports whether the machine has a host.
	Metal3MachineAssociateBareMetalHostCondition = "AssociateBareMetalHost"

	// Metal3MachineAssociateBareMetalHostSuccessReason surfaces when the machine has a host.
	Metal3MachineAssociateBareMetalHostSuccessReason = "AssociateBareMetalHostSuccess"

	// Metal3MachineAssociateBareMetalHostViaNodeReuseSuccessReason surfaces when the machine has a host that was used before by a
	// machine of the same owner.
	Metal3MachineAssociateBareMetalHostViaNodeReuseSuccessReason = "AssociateBareMetalHostViaNodeReuseSuccess"

	// Metal3MachineAssociateBareMetalHostFailedReason surfaces when a request has failed and is retried.
	Metal3MachineAssociateBareMetalHostFailedReason = "AssociateBareMetalHostFailed"

	// Metal3MachineAnnotationsRemovedReason surfaces when a policy or webhook removes the annotation or finalizer that must be
	// stored before a host is claimed.
	Metal3MachineAnnotationsRemovedReason = faultlinev1.ReasonAnnotationsRemoved

	// Metal3MachineWaitingForMetal3ClusterReason surfaces when the Metal3Cluster does not exist.
	Metal3MachineWaitingForMetal3ClusterReason = "WaitingforMetal3Cluster"

	// Metal3MachineWaitingForClusterInfrastructureReadyReason surfaces when the cluster's infrastructure is not provisioned yet.
	Metal3MachineWaitingForClusterInfrastructureReadyReason = clusterv1.WaitingForClusterInfrastructureReadyReason

	// Metal3MachineWaitingForBootstrapDataReason surfaces when the bootstrap data does not exist yet.
	Metal3MachineWaitingForBootstrapDataReason = clusterv1.WaitingForBootstrapDataReason

	// Metal3MachineInvalidHostSelectorReason surfaces when the host selector cannot be parsed.
	Metal3MachineInvalidHostSelectorReason = "InvalidHostSelector"

	// Metal3MachineHostNotFoundReason surfaces when the host of the machine no longer exists.
	Metal3MachineHostNotFoundReason = "BareMetalHostNotFound"

	// Metal3MachineHostErrorReason surfaces when the host of the machine reports an error or has lost power.
	Metal3MachineHostErrorReason = "BareMetalHostError"

	// Metal3MachineHostPauseAnnotationRemoveFailedReason surfaces when the host cannot be unpaused.
	Metal3MachineHostPauseAnnotationRemoveFailedReason = "BareMetalHostPauseAnnotationRemoveFailed"

	// Metal3MachineHostPauseAnnotationSetFailedReason surfaces when the host cannot be paused.
	Metal3MachineHostPauseAnnotationSetFailedReason = "BareMetalHostPauseAnnotationSetFailed"

	// Metal3MachineDeletingReason surfaces when the machine is being deleted.
	Metal3MachineDeletingReason = clusterv1.DeletingReason
)

// Condition AssociateMetal3MachineMetaData of a Metal3Machine.
const (
	// Metal3MachineAssociateMetaDataCondition reports whether the machine has claimed its Metal3Data.
	Metal3MachineAssociateMetaDataCondition = "AssociateMetal3MachineMetaData"

	// Metal3MachineAssociateMetaDataSuccessReason surfaces when the Metal3DataClaim exists.
	Metal3MachineAssociateMetaDataSuccessReason = "AssociateMetal3MachineMetaDataSuccess"

	// Metal3MachineAssociateMetaDataFailedReason surfaces when the Metal3DataClaim cannot be created.
	Metal3MachineAssociateMetaDataFailedReason = "AssociateMetal3MachineMetaDataFailed"
)

// Condition Metal3DataReady of a Metal3Machine.
const (
	// Metal3MachineDataReadyCondition reports whether the host's metadata and network data are rendered.
	Metal3MachineDataReadyCondition = "Metal3DataReady"

	// Metal3MachineDataSecretsReadyReason surfaces when the data is rendered.
	Metal3MachineDataSecretsReadyReason = "Metal3DataSecretsReady"

	// Metal3MachineSecretsSetExternallyReason surfaces when the machine has no data template. The Secrets, if any, are provided
	// by the user.
	Metal3MachineSecretsSetExternallyReason = "SecretsSetExternally"

	// Metal3MachineWaitingForMetal3DataReason surfaces when the data is not rendered yet.
	Metal3MachineWaitingForMetal3DataReason = "WaitingForMetal3Data"

	// Metal3MachineDataFailedReason surfaces when the data cannot be rendered; the message is that of the Metal3Data. If the API
	// server rejects an object that the data needs, the condition has the reason of the Metal3Data instead.
	Metal3MachineDataFailedReason = Metal3DataFailedReason
)

// Metal3MachineHostLabelsRefusedCondition of a Metal3Machine exists only while its host has labels that the Metal3Cluster lists
// for copying but that must not be set on Nodes. It does not affect Ready. Its reason is LabelPrefixRefused.
const Metal3MachineHostLabelsRefusedCondition = "HostLabelsRefused"

// Condition FailureDomainUnlisted of a Metal3Machine exists only while the Machine names a failure domain that the Metal3Cluster
// does not list. The machine still uses only hosts of that failure domain. The condition does not affect Ready.
const (
	// Metal3MachineFailureDomainUnlistedCondition names the failure domain.
	Metal3MachineFailureDomainUnlistedCondition = "FailureDomainUnlisted"

	// FailureDomainUnlistedReason surfaces when spec.failureDomains of the Metal3Cluster does not list the failure domain.
	FailureDomainUnlistedReason = "FailureDomainUnlisted"
)

// Condition SeveralBareMetalHosts of a Metal3Machine.
const (
	// Metal3MachineSeveralHostsCondition exists only while several hosts name the machine as their consumer. The machine keeps
	// one of them. The condition does not affect Ready.
	Metal3MachineSeveralHostsCondition = "SeveralBareMetalHosts"

	// Metal3MachineSeveralHostsReason surfaces when a user or tool has edited or restored a host.
	Metal3MachineSeveralHostsReason = "SeveralConsumerReferences"
)

// Condition BareMetalHostProvisioned of a Metal3Machine.
const (
	// Metal3MachineHostProvisionedCondition reports whether the host is running and its Node has been found.
	Metal3MachineHostProvisionedCondition = "BareMetalHostProvisioned"

	// Metal3MachineHostProvisionedReason surfaces when the host is running and its Node has been found.
	Metal3MachineHostProvisionedReason = clusterv1.ProvisionedReason

	// Metal3MachineHostProvisioningReason surfaces when the host is being provisioned.
	Metal3MachineHostProvisioningReason = "Provisioning"

	// Metal3MachineWaitingForNodeReason surfaces when the host is running and its Node has not joined yet.
	Metal3MachineWaitingForNodeReason = "WaitingForNode"

	// Metal3MachineAmbiguousNodeReason surfaces when more than one Node claims to run on the host.
	Metal3MachineAmbiguousNodeReason = "AmbiguousNode"

	// Metal3MachineUnexpectedProviderIDReason surfaces when the Node of the host has a provider ID other than the machine's.
	Metal3MachineUnexpectedProviderIDReason = "UnexpectedProviderID"
)
