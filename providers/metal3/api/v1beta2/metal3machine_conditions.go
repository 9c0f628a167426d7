// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition Ready of a Metal3Machine sums up the others.
const (
	// Metal3MachineReadyCondition is true when all the other conditions are.
	Metal3MachineReadyCondition = clusterv1.ReadyCondition

	// Metal3MachineNotReadyReason: a condition is not as it should be.
	Metal3MachineNotReadyReason = clusterv1.NotReadyReason
)

// Condition AssociateBareMetalHost of a Metal3Machine. While it waits for a
// host it has one of the reasons beside NoCapacityReason.
const (
	// Metal3MachineAssociateBareMetalHostCondition tells whether the machine
	// has a host.
	Metal3MachineAssociateBareMetalHostCondition = "AssociateBareMetalHost"

	// Metal3MachineAssociateBareMetalHostSuccessReason: it has.
	Metal3MachineAssociateBareMetalHostSuccessReason = "AssociateBareMetalHostSuccess"

	// Metal3MachineAssociateBareMetalHostViaNodeReuseSuccessReason: it has one
	// that a machine of the same owner had before.
	Metal3MachineAssociateBareMetalHostViaNodeReuseSuccessReason = "AssociateBareMetalHostViaNodeReuseSuccess"

	// Metal3MachineAssociateBareMetalHostFailedReason: a request failed and is
	// made again.
	Metal3MachineAssociateBareMetalHostFailedReason = "AssociateBareMetalHostFailed"

	// Metal3MachineAnnotationsRemovedReason: a policy or webhook removes the
	// annotation or finalizer that has to be stored before a host is taken.
	Metal3MachineAnnotationsRemovedReason = faultlinev1.ReasonAnnotationsRemoved

	// Metal3MachineWaitingForMetal3ClusterReason: the Metal3Cluster does not
	// exist.
	Metal3MachineWaitingForMetal3ClusterReason = "WaitingforMetal3Cluster"

	// Metal3MachineWaitingForClusterInfrastructureReadyReason: the cluster's
	// infrastructure is not provisioned yet.
	Metal3MachineWaitingForClusterInfrastructureReadyReason = clusterv1.WaitingForClusterInfrastructureReadyReason

	// Metal3MachineWaitingForBootstrapDataReason: there is no bootstrap data
	// yet.
	Metal3MachineWaitingForBootstrapDataReason = clusterv1.WaitingForBootstrapDataReason

	// Metal3MachineInvalidHostSelectorReason: the host selector cannot be read.
	Metal3MachineInvalidHostSelectorReason = "InvalidHostSelector"

	// Metal3MachineHostNotFoundReason: the host of the machine is gone.
	Metal3MachineHostNotFoundReason = "BareMetalHostNotFound"

	// Metal3MachineHostErrorReason: the host of the machine reports an error, or
	// has lost its power.
	Metal3MachineHostErrorReason = "BareMetalHostError"

	// Metal3MachineHostPauseAnnotationRemoveFailedReason: the host could not be
	// taken out of its pause.
	Metal3MachineHostPauseAnnotationRemoveFailedReason = "BareMetalHostPauseAnnotationRemoveFailed"

	// Metal3MachineHostPauseAnnotationSetFailedReason: the host could not be
	// paused.
	Metal3MachineHostPauseAnnotationSetFailedReason = "BareMetalHostPauseAnnotationSetFailed"

	// Metal3MachineDeletingReason: the machine is being deleted.
	Metal3MachineDeletingReason = clusterv1.DeletingReason
)

// Condition AssociateMetal3MachineMetaData of a Metal3Machine.
const (
	// Metal3MachineAssociateMetaDataCondition tells whether the machine has
	// claimed its Metal3Data.
	Metal3MachineAssociateMetaDataCondition = "AssociateMetal3MachineMetaData"

	// Metal3MachineAssociateMetaDataSuccessReason: it has.
	Metal3MachineAssociateMetaDataSuccessReason = "AssociateMetal3MachineMetaDataSuccess"

	// Metal3MachineAssociateMetaDataFailedReason: the claim could not be made.
	Metal3MachineAssociateMetaDataFailedReason = "AssociateMetal3MachineMetaDataFailed"
)

// Condition Metal3DataReady of a Metal3Machine.
const (
	// Metal3MachineDataReadyCondition tells whether the host's metadata and
	// network data are rendered.
	Metal3MachineDataReadyCondition = "Metal3DataReady"

	// Metal3MachineDataSecretsReadyReason: they are.
	Metal3MachineDataSecretsReadyReason = "Metal3DataSecretsReady"

	// Metal3MachineSecretsSetExternallyReason: the machine has no data
	// template; the Secrets are the user's, or there are none.
	Metal3MachineSecretsSetExternallyReason = "SecretsSetExternally"

	// Metal3MachineWaitingForMetal3DataReason: they are not rendered yet.
	Metal3MachineWaitingForMetal3DataReason = "WaitingForMetal3Data"

	// Metal3MachineDataFailedReason: they cannot be rendered; the message is
	// that of the Metal3Data. Where the API server refuses what the data needs,
	// the condition has the reason of the Metal3Data instead.
	Metal3MachineDataFailedReason = Metal3DataFailedReason
)

// Metal3MachineHostLabelsRefusedCondition of a Metal3Machine is there only
// while its host has labels that the Metal3Cluster wants copied and that Nodes
// must not get. The machine is no less ready for it. Its reason is
// LabelPrefixRefused.
const Metal3MachineHostLabelsRefusedCondition = "HostLabelsRefused"

// Condition FailureDomainUnlisted of a Metal3Machine is there only while the
// Machine names a failure domain that the Metal3Cluster does not list. The
// machine is kept to it, and is no less ready for it.
const (
	// Metal3MachineFailureDomainUnlistedCondition tells which it is.
	Metal3MachineFailureDomainUnlistedCondition = "FailureDomainUnlisted"

	// FailureDomainUnlistedReason: spec.failureDomains of the Metal3Cluster has
	// no domain of that name.
	FailureDomainUnlistedReason = "FailureDomainUnlisted"
)

// SeveralBareMetalHosts of a Metal3Machine.
const (
	// Metal3MachineSeveralHostsCondition is there only while more than one host
	// names the machine as its consumer. The machine keeps to one of them and
	// is no less ready.
	Metal3MachineSeveralHostsCondition = "SeveralBareMetalHosts"

	// Metal3MachineSeveralHostsReason: somebody has edited or restored a host.
	Metal3MachineSeveralHostsReason = "SeveralConsumerReferences"
)

// Condition BareMetalHostProvisioned of a Metal3Machine.
const (
	// Metal3MachineHostProvisionedCondition tells whether the host runs and its
	// Node is known.
	Metal3MachineHostProvisionedCondition = "BareMetalHostProvisioned"

	// Metal3MachineHostProvisionedReason: it runs and its Node is known.
	Metal3MachineHostProvisionedReason = clusterv1.ProvisionedReason

	// Metal3MachineHostProvisioningReason: the host is being provisioned.
	Metal3MachineHostProvisioningReason = "Provisioning"

	// Metal3MachineWaitingForNodeReason: the host runs, and its Node has not
	// joined yet.
	Metal3MachineWaitingForNodeReason = "WaitingForNode"

	// Metal3MachineAmbiguousNodeReason: more than one Node says that it runs on
	// the host.
	Metal3MachineAmbiguousNodeReason = "AmbiguousNode"

	// Metal3MachineUnexpectedProviderIDReason: the Node of the host has a
	// provider ID that is not the machine's.
	Metal3MachineUnexpectedProviderIDReason = "UnexpectedProviderID"
)
