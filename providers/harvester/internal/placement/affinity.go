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
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Weights of what is preferred. Another host counts more than another failure domain, and both more than to be near machines of the same
// logical failure domain.
const (
	otherHostWeight   = 100
	otherDomainWeight = 50
	sameKeyWeight     = 10
)

// Topology is a failure domain as the scheduler of Harvester knows it: the hosts with this value in this label. The zero value is
// none.
type Topology struct {
	Key, Value string
}

// Wants is what the place of a virtual machine depends on. Labels and Affinity belong together: what the second selects, the first
// have on the template, whose labels are those of the pod.
type Wants struct {
	// ClusterID tells the cluster's machines from those of others, which may have the same name and be in the same namespace.
	ClusterID string
	// ControlPlane and Deployment say which machines it is to be apart from: the others of its control plane, or of its
	// MachineDeployment. Without either they are all of the cluster that have neither.
	ControlPlane bool
	Deployment   string
	// Domain is where it has to be; the zero value leaves it to the scheduler.
	Domain Topology
	// SpreadKey is the label of hosts over whose values machines are spread that have no domain; "" for none.
	SpreadKey string
	// Logical is its logical failure domain.
	Logical Logical
	// Node and Pod are what the user wants. They are never changed.
	Node *corev1.NodeAffinity
	Pod  *corev1.PodAffinity
}

// Logical is a logical failure domain: one of those over which the machines of a class are spread, whatever failure domains there are.
// The zero value is none.
type Logical struct {
	// Key is <class>-<number>.
	Key string
	// TopologyKey is the label of hosts whose values are the physical domains; "" when they have none in common.
	TopologyKey string
	// Required says that machines of another key of the class must not share a physical domain with this one.
	Required bool
}

// class is what the logical failure domain is one of.
func (l Logical) class() string {
	if i := strings.LastIndex(l.Key, "-"); i > 0 {
		return l.Key[:i]
	}
	return l.Key
}

// Labels are those that the template of the virtual machine needs.
func Labels(w Wants) map[string]string {
	labels := w.group()
	if w.Logical.Key != "" {
		labels[faultlinev1.DistributionKeyLabel] = w.Logical.Key
		labels[faultlinev1.DistributionClassLabel] = w.Logical.class()
	}
	return labels
}

// group are the labels that the machines have in common which are to be apart.
func (w Wants) group() map[string]string {
	group := map[string]string{infrav1.ClusterIDLabel: w.ClusterID}
	switch {
	case w.ControlPlane:
		group[infrav1.ControlPlaneLabel] = w.ClusterID
	case w.Deployment != "":
		group[clusterv1.MachineDeploymentNameLabel] = w.Deployment
	}
	return group
}

// others selects the group.
func (w Wants) others() *metav1.LabelSelector {
	selector := &metav1.LabelSelector{MatchLabels: w.group()}
	if !w.ControlPlane && w.Deployment == "" {
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{
			{Key: infrav1.ControlPlaneLabel, Operator: metav1.LabelSelectorOpDoesNotExist},
			{Key: clusterv1.MachineDeploymentNameLabel, Operator: metav1.LabelSelectorOpDoesNotExist},
		}
	}
	return selector
}

// Affinity is the affinity of the virtual machine's template. The domain is required in addition to whatever else is: it is added to
// every term, because any one of them lets a host in.
func Affinity(w Wants) *corev1.Affinity {
	affinity := &corev1.Affinity{NodeAffinity: w.Node.DeepCopy(), PodAffinity: w.Pod.DeepCopy(), PodAntiAffinity: &corev1.PodAntiAffinity{}}
	if w.Domain != (Topology{}) {
		require(affinity, corev1.NodeSelectorRequirement{Key: w.Domain.Key, Operator: corev1.NodeSelectorOpIn, Values: []string{w.Domain.Value}})
	}
	apart(affinity, otherHostWeight, corev1.PodAffinityTerm{LabelSelector: w.others(), TopologyKey: corev1.LabelHostname})
	if w.Domain == (Topology{}) && w.SpreadKey != "" && w.SpreadKey != corev1.LabelHostname {
		apart(affinity, otherDomainWeight, corev1.PodAffinityTerm{LabelSelector: w.others(), TopologyKey: w.SpreadKey})
	}
	if w.Logical.Key != "" && w.Logical.TopologyKey != "" {
		w.keepKeysApart(affinity)
	}
	keepFields(affinity)
	return affinity
}

// keepFields gives terms that select hosts by fields alone an expression that every host satisfies: Harvester's webhook drops a term of which
// it leaves no expression, and the virtual machine would be anywhere then.
func keepFields(affinity *corev1.Affinity) {
	if affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		if len(terms[i].MatchFields) > 0 && !slices.ContainsFunc(terms[i].MatchExpressions, staysInHarvester) {
			terms[i].MatchExpressions = append(terms[i].MatchExpressions,
				corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists})
		}
	}
}

// staysInHarvester reports whether Harvester's webhook leaves an expression as it is: it writes those about its networks and pinned CPUs itself.
func staysInHarvester(wanted corev1.NodeSelectorRequirement) bool {
	return !strings.HasPrefix(wanted.Key, netattv1.HostNetworkLabelPrefix) && wanted.Key != "cpumanager"
}

// keepKeysApart makes machines of one key share a physical domain, and those of another key of the class stay out of it. A host that is
// in no physical domain is none for them: to be apart from others means nothing there. Machines without a key, such as those of the
// control plane, are not repelled.
func (w Wants) keepKeysApart(affinity *corev1.Affinity) {
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
		apart(affinity, otherHostWeight, others)
		return
	}
	anti := affinity.PodAntiAffinity
	anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, others)
}

// keys selects machines of the class by their key. Those that have none are not selected, whatever the operator: NotIn alone would.
func (w Wants) keys(operator metav1.LabelSelectorOperator) corev1.PodAffinityTerm {
	key := faultlinev1.DistributionKeyLabel
	return corev1.PodAffinityTerm{TopologyKey: w.Logical.TopologyKey, LabelSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{
			infrav1.ClusterIDLabel: w.ClusterID, faultlinev1.DistributionClassLabel: w.Logical.class(),
		},
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: key, Operator: metav1.LabelSelectorOpExists}, {Key: key, Operator: operator, Values: []string{w.Logical.Key}},
		},
	}}
}

// require adds a requirement to each of the terms, of which a host has to satisfy one. A term that is empty lets no host in, and goes
// on to do so.
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

// apart prefers hosts, or domains, where no machine is that the term selects.
func apart(affinity *corev1.Affinity, weight int32, term corev1.PodAffinityTerm) {
	preferred := &affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	*preferred = append(*preferred, corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
}
