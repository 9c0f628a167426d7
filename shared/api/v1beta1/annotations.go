// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// AssignedFailureDomainAnnotation on an infrastructure machine names the failure domain assigned to it because its Machine names
// none. The machine is placed there, or waits, as if Machine.spec.failureDomain named it.
const AssignedFailureDomainAnnotation = "faultline.io/assigned-failure-domain"

// DistributionKeyLabel on a Machine, its infrastructure machine and its Node names the logical failure domain of the machine.
const DistributionKeyLabel = "faultline.io/distribution-key"

// DistributionClassLabel on a Machine, set in the template of its MachineDeployment, names the class of its logical failure
// domains. MachineDeployments of one class are spread together.
const DistributionClassLabel = "faultline.io/distribution-class"

// CurrentMoveAnnotation on an infrastructure cluster records the move of a control-plane machine in progress. It is written first
// and removed last.
const CurrentMoveAnnotation = "faultline.io/current-move"

// MarkedForMoveAnnotation on a Machine records that Faultline has set cluster.x-k8s.io/delete-machine on it. Faultline only
// removes a mark of its own.
const MarkedForMoveAnnotation = "faultline.io/marked-for-move"

// ScaledByAnnotation on a MachineDeployment names the program, or the people, that scale it and choose the machines to delete.
// Faultline then marks none of its machines with cluster.x-k8s.io/delete-machine, and moves none to rebalance it. The cluster
// autoscaler and Karpenter are detected without it.
const ScaledByAnnotation = "faultline.io/scaled-by"

// QuorumHookAnnotation on a control-plane Machine holds its deletion, after its Node is drained, until enough other members of
// the control plane are healthy. Its value states why a Machine that is being deleted waits. Remove it to release the Machine.
const QuorumHookAnnotation = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/faultline-quorum"

// LabelsFromMachineAnnotation on a Node lists the labels, with their values, that the Node has from its machine. They are updated
// when the machine's failure domain or labels change, unless another client has changed their value.
const LabelsFromMachineAnnotation = "faultline.io/labels-from-machine"

// FailureDomainAnnotation on a Node names the failure domain of its machine as reported by the infrastructure, with the name used
// in Machine.spec.failureDomain. The label topology.kubernetes.io/zone may use another name for it.
const FailureDomainAnnotation = "infrastructure.cluster.x-k8s.io/failure-domain"

// AllowedNamespacesAnnotation on a Secret or ConfigMap lists the namespaces from which it may be used, separated by commas; "*" allows all.
const AllowedNamespacesAnnotation = "faultline.io/allowed-namespaces"

// StateReasonsAnnotation on an infrastructure cluster records who has set the state of a failure domain in spec.distribution, when and
// why, in JSON by the name of the failure domain. kubectl fd writes it with --reason and shows it; no controller reads it.
const StateReasonsAnnotation = "faultline.io/state-reasons"

// Attributes of a published failure domain that become labels of Nodes.
const (
	// RegionAttribute is the attribute with the value of the Node label topology.kubernetes.io/region.
	RegionAttribute = "region"
	// ZoneAttribute is the attribute with the value of the Node label topology.kubernetes.io/zone. Without it the label has the
	// name of the domain.
	ZoneAttribute = "zone"
)
