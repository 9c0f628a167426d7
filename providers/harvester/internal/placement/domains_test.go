// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

const zoneKey = corev1.LabelTopologyZone

// node returns a Node of Harvester that can run virtual machines. It has a zone unless that is "".
func node(name, zone string, change ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	if zone != "" {
		n.Labels[zoneKey] = zone
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, c := range change {
		c(&n)
	}
	return n
}

func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }
func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }
func witness(n *corev1.Node)  { n.Labels[infrav1.WitnessLabel] = "true" }
func noMachines(n *corev1.Node) {
	n.Labels["kubevirt.io/schedulable"] = "false"
}

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

func region(name string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[corev1.LabelTopologyRegion] = name }
}

// notEmptyIf matches a non-empty text if there is true, and an empty one otherwise.
func notEmptyIf(there bool) OmegaMatcher {
	if there {
		return Not(BeEmpty())
	}
	return BeEmpty()
}

func hosts(nodes ...corev1.Node) []placement.Host { return placement.Hosts(nodes) }

func clusterOf(declared ...infrav1.HarvesterFailureDomain) *infrav1.HarvesterCluster {
	c := &infrav1.HarvesterCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	c.Annotations = map[string]string{infrav1.ClusterIDAnnotation: "id"}
	c.Spec.FailureDomains = declared
	return c
}

func namesOf(domains []placement.Domain) []string {
	all := []string{}
	for _, d := range domains {
		all = append(all, d.Name)
	}
	return all
}

func TestUnusualHostsDoNotChangeDomains(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]corev1.Node{
		"a host without the label":                   node("x", ""),
		"a witness without the label":                node("x", "", witness),
		"a witness with a label of its own":          node("x", "w", witness),
		"a cordoned host":                            node("x", "a", cordoned),
		"a host that is not ready":                   node("x", "b", notReady),
		"a host that is being upgraded":              node("x", "a", tainted("kubevirt.io/drain")),
		"a host with an empty label":                 node("x", "", func(n *corev1.Node) { n.Labels[zoneKey] = "" }),
		"a management host that runs no machines":    node("x", "b", tainted("node-role.kubernetes.io/control-plane")),
		"a host on which KubeVirt starts no machine": node("x", "b", noMachines),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			all := hosts(node("h1", "a"), node("h2", "b"), other)
			g.Expect(namesOf(placement.Domains(clusterOf(), all))).To(Equal([]string{"a", "b"}))
			for _, seen := range placement.Observations(clusterOf(), all) {
				g.Expect(seen.Health).To(Equal(distribution.Healthy))
			}
		})
	}
}

func TestNewClusterHasNoSingleHostDomains(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := hosts(node("h1", ""), node("h2", ""))
	g.Expect(placement.Domains(clusterOf(), all)).To(BeEmpty())
	g.Expect(placement.Notes(clusterOf(), all)).To(ConsistOf(ContainSubstring("no host of Harvester has the label " + zoneKey)))
}

func TestDomainHealth(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		nodes  []corev1.Node
		reason string
	}{
		"one host takes machines":              {[]corev1.Node{node("h1", "a"), node("h2", "a", notReady)}, ""},
		"no host has the label":                {[]corev1.Node{node("h1", "b")}, infrav1.FailureDomainWithoutHostsReason},
		"only a witness has the label":         {[]corev1.Node{node("h1", "a", witness)}, infrav1.FailureDomainWithoutHostsReason},
		"all are down":                         {[]corev1.Node{node("h1", "a", notReady), node("h2", "a", notReady)}, infrav1.FailureDomainHostsUnhealthyReason},
		"all are cordoned":                     {[]corev1.Node{node("h1", "a", cordoned), node("h2", "a", tainted("x"))}, infrav1.FailureDomainHostsCordonedReason},
		"what is not cordoned is down":         {[]corev1.Node{node("h1", "a", cordoned), node("h2", "a", notReady)}, infrav1.FailureDomainHostsCordonedReason},
		"KubeVirt starts machines on none":     {[]corev1.Node{node("h1", "a", noMachines)}, infrav1.FailureDomainHostsUnhealthyReason},
		"tainted by Kubernetes as unreachable": {[]corev1.Node{node("h1", "a", notReady, tainted(corev1.TaintNodeUnreachable))}, infrav1.FailureDomainHostsUnhealthyReason},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			seen := placement.Observations(clusterOf(infrav1.HarvesterFailureDomain{Name: "a"}), hosts(tc.nodes...))
			g.Expect(seen).To(HaveLen(1))
			g.Expect(seen[0].Reason).To(Equal(tc.reason))
			health := distribution.Unhealthy
			if tc.reason == "" {
				health = distribution.Healthy
			}
			g.Expect(seen[0].Health).To(Equal(health))
			g.Expect(seen[0].Message).To(notEmptyIf(tc.reason != ""))
		})
	}
}

func TestDeclaredDomainMembers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := clusterOf(
		infrav1.HarvesterFailureDomain{Name: "two", TopologyKey: "rack", TopologyValue: "r2", ControlPlane: ptr.To(false)},
		infrav1.HarvesterFailureDomain{Name: "one", TopologyKey: "rack", TopologyValue: "r1"})
	rack := func(r string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels["rack"] = r } }
	all := hosts(node("h1", "z", rack("r1"), region("north")), node("h2", "z", rack("r1"), region("north")), node("h3", "z", rack("r2")), node("h4", "z"))
	seen := placement.Observations(cluster, all)
	g.Expect(seen).To(HaveExactElements(
		And(HaveField("Name", "one"), HaveField("ControlPlane", true), HaveField("Attributes", Equal(map[string]string{
			"topologyKey": "rack", "topologyValue": "r1", "hosts": "2", "region": "north",
		}))),
		And(HaveField("Name", "two"), HaveField("ControlPlane", false), HaveField("Attributes", HaveKeyWithValue("hosts", "1")))))
	g.Expect(placement.Notes(cluster, all)).To(HaveExactElements(
		ContainSubstring("hosts outside all failure domains, which run only machines without a failure domain: h4"),
		And(ContainSubstring("single host: two (h3)"), ContainSubstring("add a second host"))))
}

func TestZoneAndRegionAttributes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	seen := placement.Observations(clusterOf(), hosts(node("h1", "a", region("north")), node("h2", "a", region("south")), node("h3", "b", region("south"))))
	g.Expect(seen[0].Attributes).To(Equal(map[string]string{"topologyKey": zoneKey, "topologyValue": "a", "zone": "a", "hosts": "2"}))
	g.Expect(seen[1].Attributes).To(HaveKeyWithValue("region", "south"))
}

// published sets the cluster's status as it is after the observations, with machines in the named domains.
func published(cluster *infrav1.HarvesterCluster, all []placement.Host, inUse ...string) {
	cluster.Status.FailureDomains, cluster.Status.Distribution = nil, faultlinev1.DistributionStatus{}
	for _, seen := range placement.Observations(cluster, all) {
		attributes := map[string]string{distribution.StateAttribute: "Active"}
		for key, value := range seen.Attributes {
			attributes[key] = value
		}
		cluster.Status.FailureDomains = append(cluster.Status.FailureDomains,
			clusterv1.FailureDomain{Name: seen.Name, ControlPlane: ptr.To(true), Attributes: attributes})
		status := faultlinev1.DomainStatus{Name: seen.Name, Machines: &faultlinev1.MachineCounts{}}
		for _, name := range inUse {
			if name == seen.Name {
				status.Machines.Workers = 1
			}
		}
		cluster.Status.Distribution.FailureDomains = append(cluster.Status.Distribution.FailureDomains, status)
	}
}

func TestDomainWithoutHostsRemainsWhileInUse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := clusterOf()
	published(cluster, hosts(node("h1", "a"), node("h2", "b"), node("h3", "c")), "b")
	now := hosts(node("h1", "a"), node("h2", ""))
	g.Expect(namesOf(placement.Domains(cluster, now))).To(Equal([]string{"a", "b"}))
	seen := placement.Observations(cluster, now)
	g.Expect(seen[1].Health).To(Equal(distribution.Unhealthy))
	g.Expect(seen[1].Reason).To(Equal(infrav1.FailureDomainWithoutHostsReason))

	cluster.Spec.FailureDomainTopologyKey = "rack"
	g.Expect(placement.Domains(cluster, now)).To(BeEmpty(), "the user excluded zones")
}

func TestUnobservedKeepsKnownDomains(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := clusterOf()
	g.Expect(placement.Unobserved(cluster, "Why", "what")).To(BeEmpty())
	all := hosts(node("h1", "a", region("north")), node("h2", "b"))
	published(cluster, all)
	before := placement.Observations(cluster, all)
	for i, seen := range placement.Unobserved(cluster, "Why", "what") {
		g.Expect(seen).To(Equal(distribution.DomainObservation{
			Name: before[i].Name, ControlPlane: true, Health: distribution.Unknown, Reason: "Why", Message: "what", Attributes: before[i].Attributes,
		}))
	}
	cluster.Status.Distribution.FailureDomains[0].RemovedSince = metav1.Now()
	g.Expect(placement.Unobserved(cluster, "Why", "what")).To(HaveExactElements(HaveField("Name", "b")), "the other was removed")

	declared := clusterOf(infrav1.HarvesterFailureDomain{Name: "d", ControlPlane: ptr.To(false)})
	g.Expect(placement.Unobserved(declared, "Why", "what")).To(HaveExactElements(And(HaveField("Name", "d"), HaveField("ControlPlane", false))))
}

func upstreamCluster(names ...string) *infrav1.HarvesterCluster {
	cluster := clusterOf()
	for _, name := range names {
		cluster.Status.FailureDomains = append(cluster.Status.FailureDomains, clusterv1.FailureDomain{
			Name: name, ControlPlane: ptr.To(true), Attributes: map[string]string{"topologyKey": corev1.LabelHostname},
		})
	}
	return cluster
}

func TestSingleHostFailureDomainsRemainUntilHostsAreLabelled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := upstreamCluster("h1", "h2", "gone")
	unlabelled := hosts(node("h1", ""), node("h2", ""), node("h3", ""))
	g.Expect(namesOf(placement.Domains(cluster, unlabelled))).To(Equal([]string{"h1", "h2"}))
	g.Expect(placement.Notes(cluster, unlabelled)[0]).To(ContainSubstring("label hosts with " + zoneKey))
	g.Expect(namesOf(placement.Domains(cluster, hosts(node("h1", "a"), node("h2", ""))))).To(Equal([]string{"a"}))
}

func TestHostStateDoesNotChangeDomains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var nodes []corev1.Node
		for i := range rapid.IntRange(0, 12).Draw(t, "hosts") {
			nodes = append(nodes, node(fmt.Sprintf("h%d", i), rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "zone")))
		}
		cluster := clusterOf()
		before := placement.Domains(cluster, placement.Hosts(nodes))
		for i := range nodes {
			rapid.SampledFrom([]func(*corev1.Node){notReady, cordoned, noMachines, tainted("x"), func(*corev1.Node) {}}).Draw(t, "what happens")(&nodes[i])
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "others") {
			nodes = append(nodes, node(fmt.Sprintf("x%d", i), rapid.SampledFrom([]string{"", "w"}).Draw(t, "zone"), witness))
		}
		after := placement.Domains(cluster, placement.Hosts(nodes))
		if fmt.Sprint(before) != fmt.Sprint(after) {
			t.Fatalf("%v became %v", before, after)
		}
		for _, seen := range placement.Observations(cluster, placement.Hosts(nodes)) {
			if (seen.Health == distribution.Unhealthy) != (seen.Reason != "") {
				t.Fatalf("%+v", seen)
			}
		}
	})
}
