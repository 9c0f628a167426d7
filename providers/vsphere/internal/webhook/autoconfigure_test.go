// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

func TestValidateAutoConfigure(t *testing.T) {
	type spec = infrav1.VSphereFailureDomainSpec
	auto := func(s *spec) { s.Topology.Hosts.AutoConfigure = ptr.To(true) }
	testRules(t, validFailureDomain, validateFailureDomain, []ruleCase[spec]{
		{"groups", auto, nil},
		{"groups of hosts by name", func(s *spec) {
			auto(s)
			s.Topology.Hosts.HostNames, s.Zone.AutoConfigure, s.Region.AutoConfigure = []string{"host-1"}, ptr.To(true), ptr.To(true)
		}, nil},
		{"groups of hosts by another tag", func(s *spec) {
			auto(s)
			s.Topology.Hosts.HostTag, s.Zone.AutoConfigure = infrav1.HostTag{Category: "racks", Name: "a"}, ptr.To(true)
		}, nil},
		{"groups of hosts by the zone's own tag", func(s *spec) {
			auto(s)
			s.Topology.Hosts.HostTag = infrav1.HostTag{Category: "k8s-zone", Name: "west-a"}
		}, nil},
		{"groups of hosts by the zone's own tag, which autoConfigure would attach", func(s *spec) {
			auto(s)
			s.Topology.Hosts.HostTag, s.Zone.AutoConfigure = infrav1.HostTag{Category: "k8s-zone", Name: "west-a"}, ptr.To(true)
		}, []string{"spec.zone.autoConfigure: Forbidden"}},
		{"hosts named twice", func(s *spec) {
			auto(s)
			s.Topology.Hosts.HostNames, s.Topology.Hosts.HostTag = []string{"host-1"}, infrav1.HostTag{Category: "racks", Name: "a"}
		}, []string{"spec.topology.hosts.hostTag: Forbidden"}},
		{"hosts of a group that is not made", func(s *spec) { s.Topology.Hosts.HostNames = []string{"host-1"} },
			[]string{"spec.topology.hosts.hostNames: Forbidden"}},
		{"tag of hosts of a group that is not made", func(s *spec) {
			s.Topology.Hosts.HostTag, s.Topology.Hosts.AutoConfigure = infrav1.HostTag{Category: "racks", Name: "a"}, ptr.To(false)
		}, []string{"spec.topology.hosts.hostTag: Forbidden"}},
		{"groups for a zone that is a compute cluster", func(s *spec) {
			auto(s)
			s.Zone.Type = infrav1.ComputeClusterFailureDomain
		}, []string{"spec.topology.hosts.autoConfigure: Forbidden"}},
		{"tags of a compute cluster in a datacenter", func(s *spec) {
			s.Region.Type, s.Zone.Type, s.Topology.Hosts = infrav1.DatacenterFailureDomain, infrav1.ComputeClusterFailureDomain, infrav1.FailureDomainHosts{}
			s.Region.AutoConfigure, s.Zone.AutoConfigure = ptr.To(true), ptr.To(true)
		}, nil},
	})
}

func TestGroupNamesDefaultToManagementCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "one"}}
	hook := vsphereFailureDomain{reader: fake.NewClientBuilder().WithObjects(system).Build()}
	domain := &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: "rack-a"}}
	g.Expect(hook.setDefaults(t.Context(), domain)).To(Succeed())
	g.Expect(domain.Spec.Topology.Hosts.IsDefined()).To(BeFalse(), "nothing will be created")

	domain.Spec.Topology.Hosts.AutoConfigure = ptr.To(true)
	g.Expect(hook.setDefaults(t.Context(), domain)).To(Succeed())
	named := domain.Spec.Topology.Hosts
	g.Expect(named.VMGroupName).To(MatchRegexp("^rack-a-[0-9a-f]{8}-vms$"))
	g.Expect(named.HostGroupName).To(MatchRegexp("^rack-a-[0-9a-f]{8}-hosts$"))

	system.UID = "two"
	other := &infrav1.VSphereFailureDomain{ObjectMeta: domain.ObjectMeta}
	other.Spec.Topology.Hosts = infrav1.FailureDomainHosts{AutoConfigure: ptr.To(true), HostGroupName: "given"}
	g.Expect(vsphereFailureDomain{reader: fake.NewClientBuilder().WithObjects(system).Build()}.setDefaults(t.Context(), other)).To(Succeed())
	g.Expect(other.Spec.Topology.Hosts.HostGroupName).To(Equal("given"))
	g.Expect(other.Spec.Topology.Hosts.VMGroupName).NotTo(Equal(named.VMGroupName), "another management cluster gives other names")
}

func TestAutoConfigureIsMutableForFailureDomainInUse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before, after := validFailureDomain(), validFailureDomain()
	after.Drift, after.Region.AutoConfigure, after.Zone.AutoConfigure = infrav1.RepairDrift, ptr.To(true), ptr.To(true)
	after.Topology.Hosts.AutoConfigure, after.Topology.Hosts.HostTag = ptr.To(true), infrav1.HostTag{Category: "racks", Name: "a"}
	after.Topology.Hosts.HostNames = []string{"host-1"}
	g.Expect(rules.Changed(&before, &after, field.NewPath("spec"), "no", configuration()...)).To(BeEmpty())
	after.Topology.Hosts.VMGroupName = "other"
	g.Expect(rules.Changed(&before, &after, field.NewPath("spec"), "no", configuration()...)).To(HaveLen(1), "where its machines are may not")
}

func TestConfiguredZoneCannotChangeServer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := &infrav1.VSphereDeploymentZone{Spec: infrav1.VSphereDeploymentZoneSpec{Server: "one", FailureDomain: "a"}}
	after := before.DeepCopy()
	after.Spec.Server = "two"
	path := field.NewPath("spec")
	g.Expect(validateConfigured(before, after, path)).To(BeEmpty())
	before.Status.Configured = []infrav1.ConfiguredObject{{Kind: infrav1.ConfiguredTagCategory, Name: "k8s-zone", State: infrav1.ConfiguredMade}}
	g.Expect(validateConfigured(before, after, path)).To(HaveLen(1))
	g.Expect(validateConfigured(before, before, path)).To(BeEmpty())
}
