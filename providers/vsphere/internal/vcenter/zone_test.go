// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func tag(category, name, kind string) vcenter.ZoneTag {
	return vcenter.ZoneTag{Category: category, Name: name, Type: kind}
}

// clusterZone returns a zone of the ThreeZones layout.
func clusterZone(letter string) vcenter.ZoneSpec {
	return vcenter.ZoneSpec{
		Placement: vcenter.Placement{
			Datacenter: "dc-1", ComputeCluster: "zone-" + letter, ResourcePool: "workload", Folder: "workload",
			Datastore: "datastore-" + letter, Networks: []string{"network-" + letter},
		},
		Region: tag(simulator.RegionCategory, simulator.RegionTag, "Datacenter"),
		Zone:   tag(simulator.ZoneCategory, "zone-"+letter, "ComputeCluster"),
	}
}

// rackZone returns a zone of the HostGroups layout.
func rackZone(letter string) vcenter.ZoneSpec {
	return vcenter.ZoneSpec{
		Placement: vcenter.Placement{
			Datacenter: "dc-1", ComputeCluster: "cluster-1", VMGroup: "rack-" + letter + "-vms", HostGroup: "rack-" + letter + "-hosts",
		},
		Region: tag(simulator.RegionCategory, simulator.RegionTag, "ComputeCluster"),
		Zone:   tag(simulator.ZoneCategory, "zone-"+letter, "HostGroup"),
	}
}

// datacenterZone returns a zone of the ThreeDatacenters layout.
func datacenterZone(letter string) vcenter.ZoneSpec {
	return vcenter.ZoneSpec{
		Placement: vcenter.Placement{Datacenter: "dc-" + letter},
		Region:    tag(simulator.RegionCategory, simulator.RegionTag, "Datacenter"),
		Zone:      tag(simulator.ZoneCategory, "zone-"+letter, "Datacenter"),
		Template:  simulator.TemplateName,
	}
}

func reasons(problems []inventory.ZoneProblem) []inventory.ZoneReason {
	found := []inventory.ZoneReason{}
	for _, p := range problems {
		found = append(found, p.Reason)
	}
	return found
}

func TestValidZones(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		layout simulator.Layout
		zones  []vcenter.ZoneSpec
	}{
		"compute clusters": {simulator.ThreeZones(), []vcenter.ZoneSpec{clusterZone("a"), clusterZone("b"), clusterZone("c")}},
		"datacenters":      {simulator.ThreeDatacenters(), []vcenter.ZoneSpec{datacenterZone("b")}},
		"host groups":      {simulator.HostGroups(), []vcenter.ZoneSpec{rackZone("a"), rackZone("b"), rackZone("c")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := newRig(t, test.layout).session()
			for _, zone := range test.zones {
				report, err := s.CheckZone(t.Context(), zone)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(report.Problems).To(BeEmpty())
			}
		})
	}
}

func TestInvalidZones(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.ThreeZones())
	racks := newRig(t, simulator.HostGroups())
	s, onRacks := r.session(), racks.session()
	for name, test := range map[string]struct {
		session *vcenter.Session
		zone    vcenter.ZoneSpec
		change  func(*vcenter.ZoneSpec)
		want    []inventory.ZoneReason
		text    string
	}{
		"datacenter":      {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.Datacenter = "x" }, []inventory.ZoneReason{inventory.DatacenterNotFound}, "/dc-1"},
		"cluster":         {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.ComputeCluster = "x" }, []inventory.ZoneReason{inventory.ComputeClusterNotFound}, "/dc-1/host/zone-a"},
		"pool":            {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.ResourcePool = "x" }, []inventory.ZoneReason{inventory.ResourcePoolNotFound}, "Resources/workload"},
		"folder":          {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.Folder = "x" }, []inventory.ZoneReason{inventory.FolderNotFound}, "/dc-1/vm/workload"},
		"datastore":       {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.Datastore = "x" }, []inventory.ZoneReason{inventory.DatastoreNotFound}, "datastore-a"},
		"other datastore": {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.Datastore = "datastore-b" }, []inventory.ZoneReason{inventory.DatastoreNotFound}, "not mounted"},
		"network":         {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.Networks[0] = "x" }, []inventory.ZoneReason{inventory.NetworkNotFound}, "network-a"},
		"other network":   {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.Networks[0] = "network-b" }, []inventory.ZoneReason{inventory.NetworkNotFound}, "not connected"},
		"region":          {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.Region.Name = "region-9" }, []inventory.ZoneReason{inventory.RegionMisconfigured}, `tag "region-9" of category "k8s-region" is not attached to /dc-1`},
		"zone's category": {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.Zone.Category = "other" }, []inventory.ZoneReason{inventory.ZoneMisconfigured}, "it carries k8s-zone:zone-a"},
		"zone's type":     {s, clusterZone("a"), func(z *vcenter.ZoneSpec) { z.Zone.Type = "Rack" }, []inventory.ZoneReason{inventory.ZoneMisconfigured}, "Datacenter, ComputeCluster, HostGroup"},
		"host group": {onRacks, rackZone("a"), func(z *vcenter.ZoneSpec) { z.HostGroup = "x" },
			[]inventory.ZoneReason{inventory.HostsMisconfigured, inventory.HostsMisconfigured}, `no host group "x"`},
		"VM group": {onRacks, rackZone("a"), func(z *vcenter.ZoneSpec) { z.VMGroup = "x" },
			[]inventory.ZoneReason{inventory.HostsMisconfigured, inventory.HostsMisconfigured}, `no VM group "x"`},
		"groups of two racks": {onRacks, rackZone("a"), func(z *vcenter.ZoneSpec) { z.VMGroup = "rack-b-vms" },
			[]inventory.ZoneReason{inventory.HostsMisconfigured}, "no VM/host rule"},
		"groups without cluster": {onRacks, rackZone("a"), func(z *vcenter.ZoneSpec) {
			z.ComputeCluster, z.Zone, z.Region = "", vcenter.ZoneTag{}, vcenter.ZoneTag{}
		},
			[]inventory.ZoneReason{inventory.HostsMisconfigured}, "computeCluster"},
		"nearly everything": {s, clusterZone("a"), func(z *vcenter.ZoneSpec) {
			z.ResourcePool, z.Folder, z.Datastore, z.Networks = "x", "x", "x", []string{"x"}
			z.Region.Name, z.Zone.Name, z.VMGroup, z.HostGroup = "x", "x", "x", "x"
		}, []inventory.ZoneReason{
			inventory.ResourcePoolNotFound, inventory.FolderNotFound, inventory.DatastoreNotFound, inventory.NetworkNotFound,
			inventory.RegionMisconfigured, inventory.ZoneMisconfigured,
			inventory.HostsMisconfigured, inventory.HostsMisconfigured, inventory.HostsMisconfigured,
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			test.change(&test.zone)
			report, err := test.session.CheckZone(t.Context(), test.zone)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(reasons(report.Problems)).To(Equal(test.want), "%v", report.Problems)
			g.Expect(fmt.Sprint(report.Problems)).To(ContainSubstring(test.text))
		})
	}
}

func TestZoneRecovers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		layout           simulator.Layout
		zone             vcenter.ZoneSpec
		hurt, repair     func(*simulator.Server) error
		want             inventory.ZoneReason
		tagsAreReadAgain bool
	}{
		"datastore lost": {simulator.ThreeZones(), clusterZone("a"),
			func(v *simulator.Server) error { return v.RemoveDatastore("dc-1", "datastore-a") },
			func(v *simulator.Server) error { return v.RestoreDatastore("dc-1", "datastore-a") }, inventory.DatastoreNotFound, false},
		"network renamed": {simulator.ThreeZones(), clusterZone("a"),
			func(v *simulator.Server) error { return v.RenameNetwork("dc-1", "network-a", "gone") },
			func(v *simulator.Server) error { return v.RenameNetwork("dc-1", "gone", "network-a") }, inventory.NetworkNotFound, false},
		"all hosts disconnected": {simulator.ThreeZones(), clusterZone("a"),
			func(v *simulator.Server) error { return v.DisconnectHosts("zone-a") },
			func(v *simulator.Server) error { return v.ReconnectHosts("zone-a") }, inventory.NoUsableHost, false},
		"all hosts of the group in maintenance": {simulator.HostGroups(), rackZone("a"),
			func(v *simulator.Server) error { return v.SetMaintenance("cluster-1", true, "host-a-1", "host-a-2") },
			func(v *simulator.Server) error { return v.SetMaintenance("cluster-1", false, "host-a-1", "host-a-2") },
			inventory.NoUsableHost, false},
		"rule disabled": {simulator.HostGroups(), rackZone("a"),
			func(v *simulator.Server) error { return v.DisableRule("cluster-1", "rack-a", true) },
			func(v *simulator.Server) error { return v.DisableRule("cluster-1", "rack-a", false) }, inventory.HostsMisconfigured, false},
		"rule not mandatory any more": {simulator.HostGroups(), rackZone("a"),
			func(v *simulator.Server) error { return v.SetMandatory("cluster-1", "rack-a", false) },
			func(v *simulator.Server) error { return v.SetMandatory("cluster-1", "rack-a", true) }, inventory.HostsMisconfigured, false},
		"all hosts of a datacenter disconnected": {simulator.ThreeDatacenters(), datacenterZone("b"),
			func(v *simulator.Server) error { return v.DisconnectHosts("/dc-b/host/cluster-1") },
			func(v *simulator.Server) error { return v.ReconnectHosts("/dc-b/host/cluster-1") }, inventory.NoUsableHost, false},
		"template renamed": {simulator.ThreeDatacenters(), datacenterZone("b"),
			func(v *simulator.Server) error { return v.Rename("/dc-b/vm/templates/"+simulator.TemplateName, "gone") },
			func(v *simulator.Server) error { return v.Rename("/dc-b/vm/templates/gone", simulator.TemplateName) }, inventory.TemplateNotFound, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := newRig(t, test.layout)
			s := r.session()
			becomes := func(want ...inventory.ZoneReason) {
				t.Helper()
				eventually(t, func() error {
					report, err := s.CheckZone(t.Context(), test.zone)
					if err != nil || !slices.Equal(reasons(report.Problems), want) {
						return fmt.Errorf("%v, %w", report.Problems, errors.Join(err, errors.New("not "+fmt.Sprint(want))))
					}
					return nil
				})
			}
			becomes()
			r.forget()
			g.Expect(test.hurt(r.server)).To(Succeed())
			becomes(test.want)
			r.reports(vcenter.Event{Kind: vcenter.InventoryChanged})
			g.Expect(test.repair(r.server)).To(Succeed())
			becomes()
		})
	}
}

func TestOneUsableHostIsEnough(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	r.forget()
	g.Expect(r.server.DisconnectHosts("zone-a", "zone-a-host-1")).To(Succeed())
	r.reports(vcenter.Event{Kind: vcenter.InventoryChanged})
	report, err := s.CheckZone(t.Context(), clusterZone("a"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Problems).To(BeEmpty())
}

func TestTagsAreReadForAllZonesTogether(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	check := func() {
		var all sync.WaitGroup
		for _, letter := range []string{"a", "b", "c"} {
			all.Go(func() {
				if report, err := s.CheckZone(t.Context(), clusterZone(letter)); err != nil || len(report.Problems) > 0 {
					t.Error(report.Problems, err)
				}
			})
		}
		all.Wait()
	}
	check()
	r.server.ResetCalls()
	for range 5 {
		check()
	}
	g.Expect(total(r.server.Calls())).To(BeZero(), "checks within a minute cost nothing")
	g.Expect(r.server.Calls()).NotTo(HaveKey("RetrievePropertiesEx"))

	r.forget()
	g.Expect(r.server.DisconnectHosts("zone-b", "zone-b-host-1")).To(Succeed())
	r.reports(vcenter.Event{Kind: vcenter.InventoryChanged})
	r.server.ResetCalls()
	check()
	calls := r.server.Calls()
	delete(calls, "WaitForUpdatesEx")
	g.Expect(calls).To(BeEmpty(), "host changes do not affect tags")
}

func TestOnlyZoneTagsAreRead(t *testing.T) {
	g := NewWithT(t)
	layout := simulator.ThreeZones()
	for i := range 30 {
		layout.Tags = append(layout.Tags, simulator.Tag{Category: "asset", Name: fmt.Sprintf("asset-%d", i), On: []string{"/dc-1/host/zone-a"}})
	}
	r := newRig(t, layout)
	s := r.session()
	r.server.ResetCalls()
	report, err := s.CheckZone(t.Context(), clusterZone("a"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Problems).To(BeEmpty())
	read := func(what string) int {
		return r.server.Calls()["REST GET /rest/com/vmware/cis/tagging/"+what+"/{id}"]
	}
	g.Expect(read("tag")).To(BeNumerically("<=", 4), "those of the categories of region and zone")
	g.Expect(read("category")).To(BeNumerically("<=", 3))
}

func TestDetachedTagIsDetected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	g.Expect(r.server.DetachTag("zone-a", "/dc-1/host/cluster-1/host-a-2")).To(Succeed())
	report, err := s.CheckZone(t.Context(), rackZone("a"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reasons(report.Problems)).To(Equal([]inventory.ZoneReason{inventory.ZoneMisconfigured}))
	g.Expect(report.Problems[0].Message).To(ContainSubstring("/dc-1/host/cluster-1/host-a-2"))
	g.Expect(report.Problems[0].Message).NotTo(ContainSubstring("host-a-1"))
}

// The inventory's stream does not contain tags, but vCenter writes an event for each tag that is attached or detached.
func TestDetachedTagEmitsEvent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	problems := func() []inventory.ZoneProblem {
		report, err := s.CheckZone(t.Context(), rackZone("a"))
		g.Expect(err).NotTo(HaveOccurred())
		return report.Problems
	}
	g.Expect(problems()).To(BeEmpty())
	r.forget()
	g.Expect(r.server.DetachTag("zone-a", "/dc-1/host/cluster-1/host-a-2")).To(Succeed())
	r.reports(vcenter.Event{Kind: vcenter.InventoryChanged})
	g.Expect(problems()).NotTo(BeEmpty(), "what was read a moment ago is not believed any more")
	r.forget()
	g.Expect(r.server.AttachTag("zone-a", "/dc-1/host/cluster-1/host-a-2")).To(Succeed())
	r.reports(vcenter.Event{Kind: vcenter.InventoryChanged})
	g.Expect(problems()).To(BeEmpty())
}

// Large installations attach tags all day long.
func TestUnusedTagCausesNoCalls(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	layout := simulator.HostGroups()
	layout.Tags = append(layout.Tags, simulator.Tag{Category: "asset", Name: "asset-1"})
	r := newRig(t, layout)
	s := r.session()
	check := func() {
		report, err := s.CheckZone(t.Context(), rackZone("a"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(report.Problems).To(BeEmpty())
	}
	check()
	r.server.ResetCalls()
	for range 3 {
		g.Expect(r.server.AttachTag("asset-1", "/dc-1/host/cluster-1/host-a-1")).To(Succeed())
		g.Expect(r.server.DetachTag("asset-1", "/dc-1/host/cluster-1/host-a-1")).To(Succeed())
	}
	eventually(t, func() error {
		if r.called("WaitForUpdatesEx") == 0 {
			return errors.New("the stream has not reported it")
		}
		return nil
	})
	check()
	calls := r.server.Calls()
	delete(calls, "WaitForUpdatesEx")
	g.Expect(calls).To(BeEmpty())
}

// This covers an account that may not read events, and one that has too many event collectors.
func TestTagsWithoutTagEvents(t *testing.T) {
	t.Parallel()
	for _, refused := range []string{"CreateCollectorForEvents", "CreateFilter"} {
		t.Run(refused, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := newRig(t, simulator.HostGroups())
			r.server.RefuseCalls(refused, 1, &types.NoPermission{PrivilegeId: "System.View"})
			s := r.session()
			report, err := s.CheckZone(t.Context(), rackZone("a"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(report.Problems).To(BeEmpty())
			g.Expect(r.called("Login")).To(Equal(1))
		})
	}
}

func TestZoneCheckWithoutVCenter(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	r.server.SetDown(true)
	report, err := s.CheckZone(t.Context(), clusterZone("a"))
	g.Expect(err).To(HaveOccurred())
	g.Expect(report.Problems).To(BeEmpty())
}

func TestAttachTags(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	vm := clone(t, s, cloneSpec(t, s, 1))
	var ids []string
	for _, name := range []string{"zone-a", simulator.RegionTag} {
		id, err := r.server.TagID(name)
		g.Expect(err).NotTo(HaveOccurred())
		ids = append(ids, id)
	}
	g.Expect(s.AttachTags(t.Context(), vm.Ref, nil)).To(Succeed())
	g.Expect(r.called("POST /rest/com/vmware/cis/session")).To(BeZero())
	for range 2 {
		g.Expect(s.AttachTags(t.Context(), vm.Ref, ids)).To(Succeed())
	}
	tagged, _ := r.server.VM("vm-1")
	g.Expect(tagged.TagIDs).To(ConsistOf(ids))
	g.Expect(r.called("POST /rest/com/vmware/cis/session")).To(Equal(1))

	r.server.ExpireSessions()
	unknown := "urn:vmomi:InventoryServiceTag:11111111-1111-4111-8111-111111111111:GLOBAL"
	err := r.session().AttachTags(t.Context(), vm.Ref, []string{unknown})
	g.Expect(err).To(MatchError(vcenter.ErrNotFound))
}
