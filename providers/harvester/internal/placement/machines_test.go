// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/status"
)

func hostname(value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[corev1.LabelHostname] = value }
}

func TestResolve(t *testing.T) {
	t.Parallel()
	all := hosts(node("h1", "a"), node("h2", "b"), node("renamed", "", hostname("old-name")))
	declared := clusterOf(infrav1.HarvesterFailureDomain{Name: "d", TopologyValue: "a"}, infrav1.HarvesterFailureDomain{Name: "empty"})
	for name, tc := range map[string]struct {
		cluster  *infrav1.HarvesterCluster
		domain   string
		found    placement.Topology
		reason   string
		unlisted bool
	}{
		"declared":                            {cluster: declared, domain: "d", found: placement.Topology{Key: zoneKey, Value: "a"}},
		"declared, and no host has the label": {cluster: declared, domain: "empty", reason: infrav1.FailureDomainWithoutHostsReason},
		"discovered":                          {cluster: clusterOf(), domain: "b", found: placement.Topology{Key: zoneKey, Value: "b"}},
		"a zone of hosts that the cluster does not list": {
			cluster: declared, domain: "b", found: placement.Topology{Key: zoneKey, Value: "b"}, unlisted: true,
		},
		"a host, by a name that is not its hostname": {
			cluster: clusterOf(), domain: "renamed", found: placement.Topology{Key: corev1.LabelHostname, Value: "old-name"}, unlisted: true,
		},
		"a host, by its hostname": {
			cluster: clusterOf(), domain: "old-name", found: placement.Topology{Key: corev1.LabelHostname, Value: "old-name"}, unlisted: true,
		},
		"nowhere": {cluster: clusterOf(), domain: "moon", reason: infrav1.FailureDomainNotFoundReason},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			found, why := placement.Resolve(tc.cluster, all, tc.domain)
			g.Expect(found).To(Equal(tc.found))
			g.Expect(why.Reason).To(Equal(tc.reason))
			g.Expect(placement.Unlisted(tc.cluster, all, tc.domain)).To(notEmptyIf(tc.unlisted))
		})
	}
}

func TestObserved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := hosts(node("h1", "a"), node("h2", "b"), node("h3", ""))
	g.Expect(placement.Observed(clusterOf(), all, "h2", "a")).To(Equal("b"), "it was migrated")
	g.Expect(placement.Observed(clusterOf(), all, "h1", "a")).To(Equal("a"))
	g.Expect(placement.Observed(clusterOf(), all, "h1", "")).To(Equal("a"))
	g.Expect(placement.Observed(clusterOf(), all, "h3", "a")).To(BeEmpty(), "the host is in no domain")
	g.Expect(placement.Observed(clusterOf(), all, "unknown", "a")).To(BeEmpty())
	g.Expect(placement.Observed(clusterOf(), all, "h3", "h3")).To(Equal("h3"), "it was kept to the host")
	overlapping := clusterOf(infrav1.HarvesterFailureDomain{Name: "all", TopologyKey: "x", TopologyValue: "y"}, infrav1.HarvesterFailureDomain{Name: "b"})
	both := hosts(node("h", "b", func(n *corev1.Node) { n.Labels["x"] = "y" }))
	g.Expect(placement.Observed(overlapping, both, "h", "b")).To(Equal("b"))
	g.Expect(placement.Observed(overlapping, both, "h", "")).To(Equal("all"))
}

func TestMayReceive(t *testing.T) {
	t.Parallel()
	cordon := faultlinev1.Distribution{FailureDomains: []faultlinev1.FailureDomainIntent{{Name: "a", State: faultlinev1.DomainCordoned}}}
	for name, tc := range map[string]struct {
		wanted faultlinev1.Distribution
		known  faultlinev1.DomainStatus
		reason string
	}{
		"healthy":                  {known: faultlinev1.DomainStatus{State: faultlinev1.DomainActive}},
		"not known":                {known: faultlinev1.DomainStatus{Name: "other"}},
		"to be cordoned":           {wanted: cordon, known: faultlinev1.DomainStatus{State: faultlinev1.DomainActive}, reason: infrav1.FailureDomainNotReadyReason},
		"never seen healthy":       {known: faultlinev1.DomainStatus{State: faultlinev1.DomainCordoned, Health: faultlinev1.DomainPending}, reason: infrav1.FailureDomainNotReadyReason},
		"cordoned for its hosts":   {known: faultlinev1.DomainStatus{State: faultlinev1.DomainCordoned, Reason: infrav1.FailureDomainHostsUnhealthyReason}, reason: infrav1.FailureDomainHostsUnhealthyReason},
		"cordoned for its absence": {known: faultlinev1.DomainStatus{State: faultlinev1.DomainCordoned, Reason: infrav1.FailureDomainWithoutHostsReason}, reason: infrav1.FailureDomainWithoutHostsReason},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf()
			if tc.known.Name == "" {
				tc.known.Name = "a"
			}
			cluster.Spec.Distribution = tc.wanted
			cluster.Status.Distribution.FailureDomains = []faultlinev1.DomainStatus{tc.known}
			NewWithT(t).Expect(placement.MayReceive(cluster, "a").Reason).To(Equal(tc.reason))
		})
	}
}

func TestNotReadyReportsNodeCondition(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	silent := node("silent", "a")
	silent.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status.",
	}}
	updated := node("updated", "a") // virt-handler is being replaced
	updated.Labels["kubevirt.io/schedulable"] = "false"
	hosts := placement.Hosts([]corev1.Node{silent, updated, node("sound", "a")})
	g.Expect(placement.NotReady(hosts, "silent")).To(Equal("Ready=Unknown NodeStatusUnknown: Kubelet stopped posting node status"))
	for _, name := range []string{"updated", "sound", "gone", ""} {
		g.Expect(placement.NotReady(hosts, name)).To(BeEmpty(), name)
	}
}

// A missing reason would leave its machines out of the count of waiting ones, and would not enqueue the cluster.
func TestWaitsForCoversEveryPlacementReason(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	waits, err := providertest.ReasonsNamed("machines.go", "WaitsFor")
	g.Expect(err).NotTo(HaveOccurred())
	declared, err := providertest.SiblingReasons("../../api/v1beta1/*.go", "FailureDomainNotFoundReason")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waits).To(ConsistOf(declared))
	named, err := providertest.ReasonsNamed("[dm]*.go", "") // excludes hosts.go, whose reasons are those of an unreachable Harvester
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waits).To(ContainElements(named))
}

func TestWaitsFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := &infrav1.HarvesterMachine{}
	g.Expect(placement.WaitsFor(machine)).To(BeEmpty())
	status.False(machine, infrav1.MachineCreatedCondition, infrav1.FailureDomainNotFoundReason, "")
	g.Expect(placement.WaitsFor(machine)).To(Equal(infrav1.FailureDomainNotFoundReason))
	status.False(machine, infrav1.MachineCreatedCondition, infrav1.ImageNotFoundReason, "")
	g.Expect(placement.WaitsFor(machine)).To(BeEmpty(), "that is not for its place")
	status.True(machine, infrav1.MachineCreatedCondition, infrav1.MachineCreatedReason)
	status.False(machine, infrav1.VMProvisioningReadyCondition, infrav1.VMUnschedulableReason, "")
	g.Expect(placement.WaitsFor(machine)).To(Equal(infrav1.VMUnschedulableReason))
}

func worker(key string) *infrav1.HarvesterMachine {
	return &infrav1.HarvesterMachine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		clusterv1.MachineDeploymentNameLabel: "md", faultlinev1.DistributionKeyLabel: key,
	}}}
}

func TestLogicalDomainsAreRequiredOnlyIfMachinesCanMigrate(t *testing.T) {
	t.Parallel()
	two := hosts(node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b"))
	one := hosts(node("a1", "a"), node("a2", "a"), node("b1", "b"))
	onlyA := []infrav1.HarvesterFailureDomain{{Name: "a"}}
	for name, tc := range map[string]struct {
		hosts    []placement.Host
		domains  []infrav1.HarvesterFailureDomain
		workers  faultlinev1.WorkersDistribution
		required bool
		key      string
		note     bool
	}{
		"not requested":                        {hosts: two, key: zoneKey},
		"requested, with two hosts per domain": {hosts: two, workers: faultlinev1.WorkersDistribution{Required: ptr.To(true)}, required: true, key: zoneKey},
		"requested, with a single-host domain": {hosts: one, workers: faultlinev1.WorkersDistribution{Required: ptr.To(true)}, key: zoneKey, note: true},
		"requested, with a single-host zone outside of all domains": {
			hosts: one, domains: onlyA, workers: faultlinev1.WorkersDistribution{Required: ptr.To(true)}, required: true, key: zoneKey,
		},
		"requested, over single hosts": {
			hosts: two, workers: faultlinev1.WorkersDistribution{Required: ptr.To(true), TopologyKey: corev1.LabelHostname}, key: corev1.LabelHostname, note: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			cluster := clusterOf(tc.domains...)
			tc.workers.DesiredFailureDomains = ptr.To[int32](2)
			cluster.Spec.Distribution.Workers = tc.workers
			requirements, note := placement.RequirementsOf(cluster, tc.hosts, worker("md-0"), false, placement.Topology{Key: zoneKey, Value: "a"})
			g.Expect(requirements.Logical).To(Equal(placement.Logical{Key: "md-0", TopologyKey: tc.key, Required: tc.required}))
			g.Expect(note).To(notEmptyIf(tc.note))
			matcher := ContainElement(ContainSubstring("treats spec.distribution.workers.required as a preference"))
			if !tc.note {
				matcher = Not(matcher)
			}
			g.Expect(placement.Notes(cluster, tc.hosts)).To(matcher, "as long as it is so")
		})
	}
}

func TestLogicalDomainsWithDifferentLabels(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := clusterOf(infrav1.HarvesterFailureDomain{Name: "a"}, infrav1.HarvesterFailureDomain{Name: "b", TopologyKey: "rack"})
	requirements, _ := placement.RequirementsOf(cluster, nil, worker("md-0"), false, placement.Topology{Key: "rack", Value: "b"})
	g.Expect(requirements.Logical.TopologyKey).To(BeEmpty())
	g.Expect(placement.Affinity(requirements).PodAffinity).To(BeNil())
	g.Expect(placement.Labels(requirements)).To(HaveKeyWithValue(faultlinev1.FormerName(faultlinev1.DistributionKeyLabel), "md-0"))
}

func TestApartByHost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		requested, domainsBy string
		want                 bool
	}{
		"by host, in zones":             {corev1.LabelHostname, corev1.LabelTopologyZone, true},
		"by host, in domains of before": {corev1.LabelHostname, "", true},
		"by host, which domains are":    {corev1.LabelHostname, corev1.LabelHostname, false},
		"by zone":                       {corev1.LabelTopologyZone, corev1.LabelTopologyZone, false},
		"by region":                     {corev1.LabelTopologyRegion, corev1.LabelTopologyZone, false},
		"by default":                    {"", corev1.LabelTopologyZone, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := &infrav1.HarvesterCluster{}
			cluster.Spec.Distribution.Workers.TopologyKey = tc.requested
			cluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "a", Attributes: map[string]string{placement.TopologyKeyAttribute: tc.domainsBy}}}
			NewWithT(t).Expect(placement.ApartByHost(cluster)).To(Equal(tc.want))
		})
	}
}

func TestControlPlaneHasNoLogicalFailureDomain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	requirements, _ := placement.RequirementsOf(clusterOf(), nil, worker("md-0"), true, placement.Topology{})
	g.Expect(requirements.Logical).To(BeZero())
	g.Expect(placement.Labels(requirements)).To(Equal(map[string]string{infrav1.ClusterIDLabel: "id", infrav1.ControlPlaneLabel: "id"}))
}
