// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

func cluster(changes ...func(*infrav1.Metal3Cluster)) *infrav1.Metal3Cluster {
	c := &infrav1.Metal3Cluster{}
	c.Name = "one"
	c.Spec.FailureDomains = []clusterv1.FailureDomain{
		{Name: "a", ControlPlane: ptr.To(true), Attributes: map[string]string{"region": "north"}}, {Name: "b"},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func host(domain string, unavailability hosts.Unavailability) hosts.Host {
	return hosts.Host{Namespace: "ns", Name: "host", Domain: domain, Unavailability: unavailability}
}

func TestObservations(t *testing.T) {
	t.Parallel()
	keptHost := host("a", "")
	keptHost.Reuse = "cp-x"
	for name, tc := range map[string]struct {
		hosts    []hosts.Host
		health   distribution.Health
		reason   string
		capacity int32
	}{
		"no hosts":              {[]hosts.Host{host("b", "")}, distribution.Unhealthy, infrav1.FailureDomainWithoutHostsReason, 0},
		"free hosts":            {[]hosts.Host{host("a", ""), host("a", ""), host("b", "")}, distribution.Healthy, "", 2},
		"all in use":            {[]hosts.Host{host("a", hosts.InUse), host("a", hosts.InUse)}, distribution.Healthy, "", 0},
		"all being prepared":    {[]hosts.Host{host("a", hosts.NotReady)}, distribution.Healthy, "", 0},
		"kept for reuse":        {[]hosts.Host{keptHost, host("a", hosts.InUse)}, distribution.Healthy, "", 1},
		"some in error":         {[]hosts.Host{host("a", hosts.InError), host("a", hosts.InUse)}, distribution.Healthy, "", 0},
		"all broken in its way": {[]hosts.Host{host("a", hosts.InError), host("a", hosts.Unhealthy), host("a", hosts.Detached)}, distribution.Unhealthy, infrav1.FailureDomainHostsUnhealthyReason, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			seen := placement.Observations(cluster(), tc.hosts)
			g.Expect(seen).To(HaveLen(2))
			g.Expect(seen[0].Name).To(Equal("a"))
			g.Expect(seen[0].ControlPlane).To(BeTrue())
			g.Expect(seen[0].Health).To(Equal(tc.health))
			g.Expect(seen[0].Reason).To(Equal(tc.reason))
			g.Expect(seen[0].Capacity).To(HaveValue(Equal(tc.capacity)))
			g.Expect(seen[0].Attributes).To(HaveKeyWithValue("region", "north"))
		})
	}
}

func TestObservationsDoNotChangeSpec(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster()
	placement.Observations(c, nil)
	g.Expect(c.Spec).To(Equal(cluster().Spec))
}

func state(name string, state faultlinev1.DomainState, health faultlinev1.DomainHealth, reason string) func(*infrav1.Metal3Cluster) {
	return func(c *infrav1.Metal3Cluster) {
		c.Status.Distribution.FailureDomains = append(c.Status.Distribution.FailureDomains,
			faultlinev1.DomainStatus{Name: name, State: state, Health: health, Reason: reason, Message: "because"})
	}
}

func TestMayReceive(t *testing.T) {
	t.Parallel()
	evict := func(c *infrav1.Metal3Cluster) {
		c.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: "a", State: faultlinev1.DomainEvicting}}
	}
	cordonC := func(c *infrav1.Metal3Cluster) {
		c.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: "c", State: faultlinev1.DomainCordoned}}
	}
	for name, tc := range map[string]struct {
		cluster *infrav1.Metal3Cluster
		domain  string
		reason  string
	}{
		"declared":               {cluster(), "a", ""},
		"not listed":             {cluster(), "c", ""},
		"not listed, cordoned":   {cluster(cordonC), "c", infrav1.FailureDomainNotReadyReason},
		"active":                 {cluster(state("a", faultlinev1.DomainActive, faultlinev1.DomainHealthy, "")), "a", ""},
		"never seen healthy yet": {cluster(state("a", faultlinev1.DomainCordoned, faultlinev1.DomainPending, "NotYetHealthy")), "a", ""},
		"cordoned for its hosts": {
			cluster(state("a", faultlinev1.DomainCordoned, faultlinev1.DomainUnhealthy, infrav1.FailureDomainHostsUnhealthyReason)), "a",
			infrav1.FailureDomainHostsUnhealthyReason,
		},
		"held back":           {cluster(state("a", faultlinev1.DomainCordoned, faultlinev1.DomainUnhealthy, faultlinev1.ReasonHoldPeriod)), "a", infrav1.FailureDomainNotReadyReason},
		"to be emptied":       {cluster(evict), "a", infrav1.FailureDomainNotReadyReason},
		"another one emptied": {cluster(evict), "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			why := placement.MayReceive(tc.cluster, tc.domain)
			g.Expect(why.Reason).To(Equal(tc.reason))
			if tc.reason != "" {
				g.Expect(why.Message).To(ContainSubstring("failure domain " + tc.domain))
			}
			if tc.domain != "c" {
				g.Expect(placement.Closed(tc.cluster)[tc.domain]).To(Equal(tc.reason != ""))
			}
		})
	}
}

// With a reason that WaitsFor misses, a machine does not count as waiting and does not enqueue the cluster.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	waits, err := providertest.ReasonsNamed("machines.go", "WaitsFor")
	g.Expect(err).NotTo(HaveOccurred())
	declared, err := providertest.SiblingReasons("../../api/v1beta2/*.go", "FailureDomainNotFoundReason")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waits).To(ConsistOf(declared))
	named, err := providertest.ReasonsNamed("*.go", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waits).To(ContainElements(named))
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	keptHost := host("a", hosts.NotReady)
	keptHost.Reuse = "cp-x"
	for name, tc := range map[string]struct {
		hosts        []hosts.Host
		requirements hosts.Requirements
		reason       string
		message      string
	}{
		"no hosts in the domain": {[]hosts.Host{host("b", "")}, hosts.Requirements{Domain: "a"}, infrav1.FailureDomainWithoutHostsReason, "has the label infrastructure.cluster.x-k8s.io/failure-domain=a"},
		"no hosts in a domain that is not listed": {
			[]hosts.Host{host("b", "")}, hosts.Requirements{Domain: "c"}, infrav1.FailureDomainNotFoundReason, "is not in spec.failureDomains of Metal3Cluster one, and no BareMetalHost"},
		"busy hosts in a domain that is not listed": {
			[]hosts.Host{host("c", hosts.InUse)}, hosts.Requirements{Domain: "c"}, infrav1.NoCapacityReason, "failure domain c: 1 host, 1 in use: waiting"},
		"broken hosts":            {[]hosts.Host{host("a", hosts.InError)}, hosts.Requirements{Domain: "a"}, infrav1.FailureDomainHostsUnhealthyReason, "failure domain a: 1 host, 1 in error: repair"},
		"busy hosts":              {[]hosts.Host{host("a", hosts.InUse)}, hosts.Requirements{Domain: "a"}, infrav1.NoCapacityReason, "failure domain a: 1 host, 1 in use: waiting"},
		"no hosts anywhere":       {nil, hosts.Requirements{}, infrav1.NoCapacityReason, "namespace: no hosts: waiting"},
		"broken hosts everywhere": {[]hosts.Host{host("a", hosts.InError)}, hosts.Requirements{}, infrav1.NoCapacityReason, "namespace: 1 host, 1 in error: waiting"},
		"one that comes back":     {[]hosts.Host{keptHost, host("a", "")}, hosts.Requirements{Domain: "a", Reuse: "cp-x"}, infrav1.NoCapacityReason, "waiting for BareMetalHost host, kept for reuse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, why := hosts.Choose(tc.hosts, tc.requirements)
			waiting := placement.Waiting(cluster(), why)
			g.Expect(waiting.Reason).To(Equal(tc.reason))
			g.Expect(waiting.Message).To(ContainSubstring(tc.message))
		})
	}
}

func TestUndeclared(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := []hosts.Host{host("a", ""), host("x", ""), host("x", hosts.InUse), host("", ""), host("c", "")}
	other := cluster(func(c *infrav1.Metal3Cluster) { c.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "c"}} })
	g.Expect(placement.Undeclared([]infrav1.Metal3Cluster{*cluster(), *other}, all)).To(HaveSuffix(": x (2)"))
	g.Expect(placement.Undeclared([]infrav1.Metal3Cluster{*cluster()}, all[:1])).To(BeEmpty())
}

func TestUnlisted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(placement.Unlisted(cluster(), "")).To(BeEmpty())
	g.Expect(placement.Unlisted(cluster(), "a")).To(BeEmpty())
	g.Expect(placement.Unlisted(cluster(), "c")).To(And(
		ContainSubstring("failure domain c, named by Machine.spec.failureDomain, is not in spec.failureDomains of Metal3Cluster one"),
		ContainSubstring("infrastructure.cluster.x-k8s.io/failure-domain=c"), HaveSuffix("add the failure domain")))
}

func TestUnlabelled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(placement.Unlabelled(cluster(), []hosts.Host{host("", ""), host("a", hosts.InError)})).To(BeEmpty())
	g.Expect(placement.Unlabelled(cluster(), []hosts.Host{host("", ""), host("c", "")})).To(And(
		ContainSubstring("(it has 2)"), ContainSubstring("label infrastructure.cluster.x-k8s.io/failure-domain with the name of its failure domain (a, b)")))
}
