// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func requires(terms ...corev1.NodeSelectorTerm) *corev1.NodeAffinity {
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}
}

func expressions(all ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: all}
}

func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func TestDomainIsAddedToEveryUserTerm(t *testing.T) {
	t.Parallel()
	inA := in(zoneKey, "a")
	byName := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "h1")}}
	byNameInA := *byName.DeepCopy()
	byNameInA.MatchExpressions = []corev1.NodeSelectorRequirement{inA}
	for name, tc := range map[string]struct{ user, want *corev1.NodeAffinity }{
		"nothing":      {nil, requires(expressions(inA))},
		"no term":      {requires(), requires(expressions(inA))},
		"one term":     {requires(expressions(in("gpu", "yes"))), requires(expressions(in("gpu", "yes"), inA))},
		"two terms":    {requires(expressions(in("gpu", "yes")), byName), requires(expressions(in("gpu", "yes"), inA), byNameInA)},
		"an empty one": {requires(corev1.NodeSelectorTerm{}), requires(corev1.NodeSelectorTerm{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			before := tc.user.DeepCopy()
			requirements := placement.Requirements{ClusterID: "id", Domain: placement.Topology{Key: zoneKey, Value: "a"}, Node: tc.user}
			for range 2 {
				g.Expect(placement.Affinity(requirements).NodeAffinity).To(Equal(tc.want))
				g.Expect(tc.user).To(Equal(before))
			}
		})
	}
}

// Harvester's webhook drops terms if none of their expressions remains.
func TestFieldTermsGetAnExpression(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	byName := func(expressions ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "h1")}, MatchExpressions: expressions}
	}
	any := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists}
	harvesters := in("network.harvesterhci.io/fibre", "true")
	user := requires(byName(), byName(harvesters), byName(in("gpu", "yes")), expressions(in("gpu", "yes")), corev1.NodeSelectorTerm{})
	before := user.DeepCopy()
	g.Expect(placement.Affinity(placement.Requirements{ClusterID: "id", Node: user}).NodeAffinity).To(Equal(
		requires(byName(any), byName(harvesters, any), byName(in("gpu", "yes")), expressions(in("gpu", "yes")), corev1.NodeSelectorTerm{})))
	g.Expect(user).To(Equal(before))
}

func TestAffinityCombinesDomainAndUserTerms(t *testing.T) {
	t.Parallel()
	label := rapid.SampledFrom([]string{"gpu", "disk", zoneKey})
	value := rapid.SampledFrom([]string{"a", "b", "7"})
	requirement := rapid.Custom(func(t *rapid.T) corev1.NodeSelectorRequirement {
		operator := rapid.SampledFrom([]corev1.NodeSelectorOperator{
			corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
		}).Draw(t, "operator")
		r := corev1.NodeSelectorRequirement{Key: label.Draw(t, "key"), Operator: operator}
		if operator == corev1.NodeSelectorOpIn || operator == corev1.NodeSelectorOpNotIn {
			r.Values = rapid.SliceOfN(value, 1, 2).Draw(t, "values")
		}
		return r
	})
	term := rapid.Custom(func(t *rapid.T) corev1.NodeSelectorTerm {
		return expressions(rapid.SliceOfN(requirement, 0, 2).Draw(t, "expressions")...)
	})
	rapid.Check(t, func(t *rapid.T) {
		user := requires(rapid.SliceOfN(term, 1, 3).Draw(t, "terms")...)
		host := node("h", value.Draw(t, "zone"))
		for range rapid.IntRange(0, 2).Draw(t, "labels") {
			host.Labels[label.Draw(t, "label")] = value.Draw(t, "value")
		}
		letsIn := func(affinity *corev1.NodeAffinity) bool {
			return placement.Unsuited(affinity, hosts(host), placement.Topology{}) == ""
		}
		made := placement.Affinity(placement.Requirements{ClusterID: "id", Node: user, Domain: placement.Topology{Key: zoneKey, Value: "a"}})
		if want := letsIn(user) && host.Labels[zoneKey] == "a"; letsIn(made.NodeAffinity) != want {
			t.Fatalf("%v lets %v in: %t", made.NodeAffinity, host.Labels, !want)
		}
	})
}

func TestAffinityDoesNotShareUserTerms(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := &infrav1.HarvesterMachine{}
	terms := make([]corev1.NodeSelectorRequirement, 1, 8) // spare capacity, so that append could write in place
	terms[0] = in("gpu", "yes")
	machine.Spec.NodeAffinity = requires(expressions(terms...))
	machine.Spec.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions = terms
	machine.Spec.WorkloadAffinity = &corev1.PodAffinity{}
	machine.Labels = map[string]string{faultlinev1.DistributionKeyLabel: "md-0"}
	before := machine.DeepCopy()
	requirements, _ := placement.RequirementsOf(clusterOf(), hosts(node("h", "a")), machine, false, placement.Topology{Key: zoneKey, Value: "a"})
	made := placement.Affinity(requirements)
	made.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Values[0] = "no"
	g.Expect(machine).To(Equal(before))
	g.Expect(terms[:2][1]).To(BeZero())
}

// selects reports whether the term's selector matches the labels.
func selects(t *testing.T, term corev1.PodAffinityTerm, of map[string]string) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return selector.Matches(labels.Set(of))
}

func TestAntiAffinityOfGroup(t *testing.T) {
	t.Parallel()
	groups := map[string]placement.Requirements{
		"control plane":            {ClusterID: "one", ControlPlane: true},
		"deployment":               {ClusterID: "one", Deployment: "md"},
		"another deployment":       {ClusterID: "one", Deployment: "other"},
		"neither":                  {ClusterID: "one"},
		"same name, other cluster": {ClusterID: "two", Deployment: "md"},
		"other control plane":      {ClusterID: "two", ControlPlane: true},
	}
	for name, requirements := range groups {
		affinity := placement.Affinity(requirements)
		NewWithT(t).Expect(affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution).To(HaveLen(1))
		term := affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
		NewWithT(t).Expect(term.TopologyKey).To(Equal(corev1.LabelHostname))
		for other, its := range groups {
			NewWithT(t).Expect(selects(t, term, placement.Labels(its))).To(Equal(name == other), "%s and %s", name, other)
		}
	}
}

func TestMachinesWithoutDomainAreSpread(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	requirements, _ := placement.RequirementsOf(clusterOf(), hosts(node("h", "a")), &infrav1.HarvesterMachine{}, false, placement.Topology{})
	preferred := placement.Affinity(requirements).PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	g.Expect(preferred).To(HaveExactElements(
		And(HaveField("Weight", int32(100)), HaveField("PodAffinityTerm.TopologyKey", corev1.LabelHostname)),
		And(HaveField("Weight", int32(50)), HaveField("PodAffinityTerm.TopologyKey", zoneKey))))
	requirements.Domain = placement.Topology{Key: zoneKey, Value: "a"}
	g.Expect(placement.Affinity(requirements).PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution).To(HaveLen(1))
}

func TestDomainIsAlwaysRequired(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	user := &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "x"}}}
	made := placement.Affinity(placement.Requirements{ClusterID: "id", Pod: user, Domain: placement.Topology{Key: zoneKey, Value: "a"}})
	g.Expect(made.PodAffinity).To(Equal(user))
	g.Expect(made.NodeAffinity).To(Equal(requires(expressions(in(zoneKey, "a")))))
}

func TestLogicalDomainAffinity(t *testing.T) {
	t.Parallel()
	logical := func(cluster, key string) placement.Requirements {
		return placement.Requirements{ClusterID: cluster, Deployment: "md", Logical: placement.Logical{Key: key, TopologyKey: zoneKey, Required: true}}
	}
	made := placement.Affinity(logical("id", "md-0"))
	g := NewWithT(t)
	g.Expect(made.NodeAffinity).To(Equal(requires(expressions(corev1.NodeSelectorRequirement{Key: zoneKey, Operator: corev1.NodeSelectorOpExists}))),
		"where the label is missing, to be apart means nothing")
	near := made.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	apart := made.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	g.Expect([]string{near.TopologyKey, apart.TopologyKey}).To(Equal([]string{zoneKey, zoneKey}))
	for name, tc := range map[string]struct {
		other       map[string]string
		near, apart bool
	}{
		"the same key":                   {other: placement.Labels(logical("id", "md-0")), near: true},
		"another key":                    {other: placement.Labels(logical("id", "md-1")), apart: true},
		"a key of another class":         {other: placement.Labels(logical("id", "db-1"))},
		"another key of another cluster": {other: placement.Labels(logical("two", "md-1"))},
		"a worker without a key":         {other: placement.Labels(placement.Requirements{ClusterID: "id", Deployment: "md"})},
		"a control plane":                {other: placement.Labels(placement.Requirements{ClusterID: "id", ControlPlane: true})},
		"foreign":                        {other: map[string]string{}},
	} {
		g.Expect(selects(t, near, tc.other)).To(Equal(tc.near), name)
		g.Expect(selects(t, apart, tc.other)).To(Equal(tc.apart), name)
	}

	preferred := logical("id", "md-0")
	preferred.Logical.Required, preferred.Domain = false, placement.Topology{Key: zoneKey, Value: "a"}
	made = placement.Affinity(preferred)
	g.Expect(made.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution).To(BeEmpty())
	g.Expect(made.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution).To(ContainElement(HaveField("PodAffinityTerm", apart)))
	g.Expect(made.NodeAffinity).To(Equal(requires(expressions(in(zoneKey, "a")))), "a host with the value has the label")
}

func TestUnsuited(t *testing.T) {
	t.Parallel()
	gpu := func(n *corev1.Node) { n.Labels["gpu"], n.Labels["memory"] = "yes", "256" }
	all := hosts(node("h1", "a", gpu), node("h2", "a"), node("h3", "b"), node("h4", "b", gpu, witness))
	op := func(key string, operator corev1.NodeSelectorOperator, values ...string) *corev1.NodeAffinity {
		return requires(expressions(corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}))
	}
	for name, tc := range map[string]struct {
		user *corev1.NodeAffinity
		a, b bool
	}{
		"none":            {nil, true, true},
		"preferred":       {&corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Preference: expressions(in("gpu", "yes"))}}}, true, true},
		"in":              {op("gpu", corev1.NodeSelectorOpIn, "yes"), true, false},
		"not in":          {op("gpu", corev1.NodeSelectorOpNotIn, "yes"), true, true},
		"exists":          {op("gpu", corev1.NodeSelectorOpExists), true, false},
		"does not exist":  {op("gpu", corev1.NodeSelectorOpDoesNotExist), true, true},
		"greater than":    {op("memory", corev1.NodeSelectorOpGt, "128"), true, false},
		"less than":       {op("memory", corev1.NodeSelectorOpLt, "128"), false, false},
		"by name":         {requires(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "h3")}}), false, true},
		"either":          {requires(expressions(in("gpu", "no")), expressions(in("gpu", "yes"))), true, false},
		"an empty term":   {requires(corev1.NodeSelectorTerm{}), false, false},
		"not readable":    {op("memory", corev1.NodeSelectorOpGt, "much"), false, false},
		"other operator":  {op("memory", "Like", "2"), false, false},
		"another domain":  {requires(expressions(in(zoneKey, "b"))), false, true},
		"host of nowhere": {requires(expressions(in(corev1.LabelHostname, "h9"))), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(placement.Unsuited(tc.user, all, placement.Topology{Key: zoneKey, Value: "a"})).To(notEmptyIf(!tc.a), "in a")
			g.Expect(placement.Unsuited(tc.user, all, placement.Topology{Key: zoneKey, Value: "b"})).To(notEmptyIf(!tc.b), "in b")
			g.Expect(placement.Unsuited(tc.user, all, placement.Topology{})).To(notEmptyIf(!tc.a && !tc.b), "anywhere")
		})
	}
}

func TestLabelsMatchAffinity(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	requirements, _ := placement.RequirementsOf(clusterOf(), hosts(node("h", "a")), worker("a-long-class-0"), false, placement.Topology{})
	g.Expect(placement.Labels(requirements)).To(Equal(map[string]string{
		infrav1.ClusterIDLabel: "id", clusterv1.MachineDeploymentNameLabel: "md",
		faultlinev1.FormerName(faultlinev1.DistributionKeyLabel):   "a-long-class-0",
		faultlinev1.FormerName(faultlinev1.DistributionClassLabel): "a-long-class",
	}))
}
