// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// AssignedFailureDomainAnnotation on an infrastructure machine names the failure domain that it was assigned, because its
// Machine names none. The machine is put there, or waits, as if Machine.spec.failureDomain named it.
const AssignedFailureDomainAnnotation = "infrastructure.cluster.x-k8s.io/assigned-failure-domain"

// DistributionKeyLabel on a Machine, on its infrastructure machine and on its Node names the logical failure domain that it is in.
const DistributionKeyLabel = "infrastructure.cluster.x-k8s.io/distribution-key"

// DistributionClassLabel on a Machine, set in the template of its MachineDeployment, names the class that its logical failure
// domains are of. MachineDeployments of one class are spread together.
const DistributionClassLabel = "infrastructure.cluster.x-k8s.io/distribution-class"

// CurrentMoveAnnotation on an infrastructure cluster holds the move of a control-plane machine that is under way. It is written
// before anything else of the move, and taken off last.
const CurrentMoveAnnotation = "infrastructure.cluster.x-k8s.io/current-move"

// MarkedForMoveAnnotation on a Machine says that Faultline has set cluster.x-k8s.io/delete-machine on it, and takes it off again.
const MarkedForMoveAnnotation = "infrastructure.cluster.x-k8s.io/marked-for-move"

// ScaledByAnnotation on a MachineDeployment names the program, or the people, that scale it and choose the machines which go. Faultline then marks
// none of its machines with cluster.x-k8s.io/delete-machine, and moves none to level it. The cluster autoscaler and Karpenter are known without it.
const ScaledByAnnotation = "infrastructure.cluster.x-k8s.io/scaled-by"

// QuorumHookAnnotation on a control-plane Machine holds its deletion, when its Node is drained, until enough other members of the control
// plane are healthy. Its value says why a Machine that is being deleted waits. To remove it lets the Machine go.
const QuorumHookAnnotation = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/faultline-quorum"

// LabelsFromMachineAnnotation on a Node lists the labels, with their values, that the Node has because of its machine. They are
// corrected when the machine's place or labels change, as long as nobody else has given them another value.
const LabelsFromMachineAnnotation = "infrastructure.cluster.x-k8s.io/labels-from-machine"

// FailureDomainAnnotation on a Node names the failure domain that its machine is in as the infrastructure reports it, by the name
// that Machine.spec.failureDomain carries. The label topology.kubernetes.io/zone may have another name for it.
const FailureDomainAnnotation = "infrastructure.cluster.x-k8s.io/failure-domain"

// AllowedNamespacesAnnotation on an object names the namespaces from which it may be used, separated by commas; "*" stands for all.
const AllowedNamespacesAnnotation = "infrastructure.cluster.x-k8s.io/allowed-namespaces"

// Attributes of a published failure domain that Nodes get as labels.
const (
	// RegionAttribute is the value of the label topology.kubernetes.io/region of its Nodes.
	RegionAttribute = "region"
	// ZoneAttribute is the value of the label topology.kubernetes.io/zone of its Nodes; without it they have the domain's name.
	ZoneAttribute = "zone"
)
