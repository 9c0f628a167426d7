// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	netattv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// Weights of preferences. A different host counts more than a different failure domain, and both count more than sharing a failure domain
// with machines of the same logical failure domain.
const (
	otherHostWeight   = 100
	otherDomainWeight = 50
	sameKeyWeight     = 10
)

// Labels of virtual machines with logical failure domains. They keep the former names: KubeVirt does not relabel the pods of
// running virtual machines, and the affinity of new ones must select them.
const (
	// keyLabel on the template of a VirtualMachine names the logical failure domain of the machine.
	keyLabel = "infrastructure.cluster.x-k8s.io/distribution-key"
	// classLabel on the template of a VirtualMachine names the class of its logical failure domains.
	classLabel = "infrastructure.cluster.x-k8s.io/distribution-class"
)

// Topology is a failure domain as Harvester's scheduler selects it: the hosts with this value in this label. The zero value means no
// failure domain.
type Topology struct {
	Key, Value string
}

// Requirements holds what determines the scheduling of a virtual machine. Use Labels and Affinity together: the affinity selects the
// labels, which the template and thus the pod must have.
type Requirements struct {
	// ClusterID distinguishes the cluster's machines from those of other clusters, which may have the same name and namespace.
	ClusterID string
	// ControlPlane and Deployment determine the machines to avoid: those of the same control plane, or of the same MachineDeployment.
	// Without either, they are the cluster's machines that have neither.
	ControlPlane bool
	Deployment   string
	// Domain is the required failure domain. The zero value leaves the choice to the scheduler.
	Domain Topology
	// SpreadKey is the label of hosts over whose values machines without a domain are spread; "" disables spreading.
	SpreadKey string
	// Logical is the machine's logical failure domain.
	Logical Logical
	// Node and Pod are the user's affinities. They are never modified.
	Node *corev1.NodeAffinity
	Pod  *corev1.PodAffinity
}

// Logical is a logical failure domain. The machines of a class are spread over its logical failure domains, independently of the physical
// ones. The zero value means no logical failure domain.
type Logical struct {
	// Key is <class>-<number>.
	Key string
	// TopologyKey is the label of hosts whose values are the physical domains; "" if the domains do not share one label.
	TopologyKey string
	// Required forbids machines with another key of the class in the same physical domain.
	Required bool
}

// class returns the class of the logical failure domain.
func (l Logical) class() string {
	if i := strings.LastIndex(l.Key, "-"); i > 0 {
		return l.Key[:i]
	}
	return l.Key
}

// Labels returns the labels that the virtual machine's template needs.
func Labels(w Requirements) map[string]string {
	labels := w.group()
	if w.Logical.Key != "" {
		labels[keyLabel] = w.Logical.Key
		labels[classLabel] = w.Logical.class()
	}
	return labels
}

// group returns the labels that are common to the machines that should be kept apart.
func (w Requirements) group() map[string]string {
	group := map[string]string{infrav1.ClusterIDLabel: w.ClusterID}
	switch {
	case w.ControlPlane:
		group[infrav1.ControlPlaneLabel] = w.ClusterID
	case w.Deployment != "":
		group[clusterv1.MachineDeploymentNameLabel] = w.Deployment
	}
	return group
}

// others selects the machines of the group.
func (w Requirements) others() *metav1.LabelSelector {
	selector := &metav1.LabelSelector{MatchLabels: w.group()}
	if !w.ControlPlane && w.Deployment == "" {
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{
			{Key: infrav1.ControlPlaneLabel, Operator: metav1.LabelSelectorOpDoesNotExist},
			{Key: clusterv1.MachineDeploymentNameLabel, Operator: metav1.LabelSelectorOpDoesNotExist},
		}
	}
	return selector
}

// Affinity returns the affinity of the virtual machine's template. The domain is added to every node selector term, because terms
// are ORed.
func Affinity(w Requirements) *corev1.Affinity {
	affinity := &corev1.Affinity{NodeAffinity: w.Node.DeepCopy(), PodAffinity: w.Pod.DeepCopy(), PodAntiAffinity: &corev1.PodAntiAffinity{}}
	if w.Domain != (Topology{}) {
		require(affinity, corev1.NodeSelectorRequirement{Key: w.Domain.Key, Operator: corev1.NodeSelectorOpIn, Values: []string{w.Domain.Value}})
	}
	preferApart(affinity, otherHostWeight, corev1.PodAffinityTerm{LabelSelector: w.others(), TopologyKey: corev1.LabelHostname})
	if w.Domain == (Topology{}) && w.SpreadKey != "" && w.SpreadKey != corev1.LabelHostname {
		preferApart(affinity, otherDomainWeight, corev1.PodAffinityTerm{LabelSelector: w.others(), TopologyKey: w.SpreadKey})
	}
	if w.Logical.Key != "" && w.Logical.TopologyKey != "" {
		w.separateKeys(affinity)
	}
	keepFields(affinity)
	return affinity
}

// keepFields adds an expression that every host satisfies to terms that select hosts by fields alone. Harvester's webhook drops a term if
// none of its expressions remains, and the virtual machine could then run on any host.
func keepFields(affinity *corev1.Affinity) {
	if affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		if len(terms[i].MatchFields) > 0 && !slices.ContainsFunc(terms[i].MatchExpressions, keptByHarvester) {
			terms[i].MatchExpressions = append(terms[i].MatchExpressions,
				corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists})
		}
	}
}

// keptByHarvester reports whether Harvester's webhook keeps an expression. It manages expressions about its networks and pinned CPUs
// itself.
func keptByHarvester(wanted corev1.NodeSelectorRequirement) bool {
	return !strings.HasPrefix(wanted.Key, netattv1.HostNetworkLabelPrefix) && wanted.Key != "cpumanager"
}

// separateKeys prefers that machines of one key share a physical domain, and keeps those of other keys of the class out of it. It
// excludes hosts outside of all physical domains, where anti-affinity has no effect. Machines without a key, such as control-plane
// machines, are not repelled.
func (w Requirements) separateKeys(affinity *corev1.Affinity) {
	if w.Domain.Key != w.Logical.TopologyKey {
		require(affinity, corev1.NodeSelectorRequirement{Key: w.Logical.TopologyKey, Operator: corev1.NodeSelectorOpExists})
	}
	if affinity.PodAffinity == nil {
		affinity.PodAffinity = &corev1.PodAffinity{}
	}
	near := &affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	*near = append(*near, corev1.WeightedPodAffinityTerm{Weight: sameKeyWeight, PodAffinityTerm: w.keys(metav1.LabelSelectorOpIn)})
	others := w.keys(metav1.LabelSelectorOpNotIn)
	if !w.Logical.Required {
		preferApart(affinity, otherHostWeight, others)
		return
	}
	anti := affinity.PodAntiAffinity
	anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, others)
}

// keys selects machines of the class by their key. It never selects machines without a key, which NotIn alone would match.
func (w Requirements) keys(operator metav1.LabelSelectorOperator) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: w.Logical.TopologyKey, LabelSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{
			infrav1.ClusterIDLabel: w.ClusterID, classLabel: w.Logical.class(),
		},
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: keyLabel, Operator: metav1.LabelSelectorOpExists}, {Key: keyLabel, Operator: operator, Values: []string{w.Logical.Key}},
		},
	}}
}

// require adds a requirement to each node selector term, because a host has to match only one. An empty term matches no host and stays
// empty.
func require(affinity *corev1.Affinity, wanted corev1.NodeSelectorRequirement) {
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	node := affinity.NodeAffinity
	if node.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	selector := node.RequiredDuringSchedulingIgnoredDuringExecution
	if len(selector.NodeSelectorTerms) == 0 {
		selector.NodeSelectorTerms = []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{wanted}}}
		return
	}
	for i := range selector.NodeSelectorTerms {
		if term := &selector.NodeSelectorTerms[i]; len(term.MatchExpressions)+len(term.MatchFields) > 0 {
			term.MatchExpressions = append(term.MatchExpressions, wanted)
		}
	}
}

// preferApart prefers hosts, or domains, without machines that the term selects.
func preferApart(affinity *corev1.Affinity, weight int32, term corev1.PodAffinityTerm) {
	preferred := &affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	*preferred = append(*preferred, corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
}
