// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestPredefinedLayouts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		layout simulator.Layout
		want   []string
	}{
		"three zones": {simulator.ThreeZones(), []string{
			"/dc-1/host/zone-b/zone-b-host-2", "/dc-1/host/zone-c/Resources/workload", "/dc-1/datastore/datastore-a",
			"/dc-1/datastore/shared", "/dc-1/network/VM Network", "/dc-1/network/network-b", "/dc-1/vm/templates/ubuntu-2404", "/dc-1/vm/workload",
		}},
		"three datacenters": {simulator.ThreeDatacenters(), []string{
			"/dc-a/host/cluster-1/dc-a-host-1", "/dc-b/vm/templates/ubuntu-2404", "/dc-c/datastore/shared", "/dc-c/network/VM Network",
		}},
		"host groups": {simulator.HostGroups(), []string{
			"/dc-1/host/cluster-1/host-c-2", "/dc-1/host/cluster-1/Resources/workload", "/dc-1/vm/templates/ubuntu-2404",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, simulator.Start(t, tc.layout), "")
			for _, path := range tc.want {
				if _, err := c.finder.ManagedObjectList(t.Context(), path); err != nil {
					t.Errorf("%s: %v", path, err)
				}
				if list := must(c.finder.ManagedObjectList(t.Context(), path))(t); len(list) != 1 {
					t.Errorf("%s: %d objects", path, len(list))
				}
			}
		})
	}
}

// A client sees only those of a cluster's datastores and networks that the layout assigns to it.
func TestDatastoresAndNetworksOfCluster(t *testing.T) {
	t.Parallel()
	layout := simulator.ThreeZones()
	layout.Datacenters[0].Networks = append(layout.Datacenters[0].Networks,
		simulator.Network{Name: "portgroup", Distributed: true, Clusters: []string{"zone-a", "zone-b"}})
	c := connect(t, simulator.Start(t, layout), "dc-1")
	for cluster, want := range map[string][]string{
		"zone-a": {"VM Network", "datastore-a", "network-a", "portgroup", "shared"},
		"zone-c": {"VM Network", "datastore-c", "network-c", "shared"},
	} {
		ref := must(c.finder.ClusterComputeResource(t.Context(), cluster))(t).Reference()
		if got := c.reachable(ref); !slices.Equal(got, want) {
			t.Errorf("%s reaches %q, want %q", cluster, got, want)
		}
		host := must(c.finder.HostSystem(t.Context(), cluster+"/"+cluster+"-host-1"))(t).Reference()
		if got := c.reachable(host); !slices.Equal(got, want) {
			t.Errorf("a host of %s reaches %q, want %q", cluster, got, want)
		}
	}
}

// reachable returns the names of the datastores and networks of a cluster or host, except for the uplinks of switches.
func (c *client) reachable(ref types.ManagedObjectReference) []string {
	c.t.Helper()
	pc := property.DefaultCollector(c.Client.Client)
	var refs []types.ManagedObjectReference
	if ref.Type == "HostSystem" {
		var host mo.HostSystem
		must(0, pc.RetrieveOne(c.t.Context(), ref, []string{"datastore", "network"}, &host))(c.t)
		refs = append(host.Datastore, host.Network...)
	} else {
		var cluster mo.ClusterComputeResource
		must(0, pc.RetrieveOne(c.t.Context(), ref, []string{"datastore", "network"}, &cluster))(c.t)
		refs = append(cluster.Datastore, cluster.Network...)
	}
	var names []string
	for _, ref := range refs {
		name := must(object.NewCommon(c.Client.Client, ref).ObjectName(c.t.Context()))(c.t)
		if !strings.Contains(name, "DVUplinks") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	layout := simulator.ThreeZones()
	layout.Datacenters[0].Templates = append(layout.Datacenters[0].Templates, simulator.Template{
		Name: "big", CPUs: 4, MemoryMiB: 8192, DiskGiB: 40, Cluster: "zone-b", Networks: []string{"network-b", "VM Network"},
	}, simulator.Template{Name: "plain", VirtualMachine: true})
	s := simulator.Start(t, layout)

	i := slices.IndexFunc(s.Templates(), func(vm simulator.VM) bool { return vm.Name == "big" })
	big := s.Templates()[i]
	if big.CPUs != 4 || big.MemoryMiB != 8192 || big.DiskGiB != 40 || big.Cluster != "zone-b" || big.Folder != "/dc-1/vm" ||
		!slices.Equal(big.Networks, []string{"network-b", "VM Network"}) {
		t.Errorf("template is %+v", big)
	}
	if plain, ok := s.VM("plain"); !ok || plain.Template || plain.Power != "poweredOff" {
		t.Errorf("plain VM is %+v", plain)
	}
	c := connect(t, s, "dc-1")
	var vm mo.VirtualMachine
	must(0, c.template().Properties(t.Context(), c.template().Reference(), []string{"snapshot", "config.template", "resourcePool"}, &vm))(t)
	if vm.Snapshot == nil || vm.Snapshot.RootSnapshotList[0].Name != "base" || !vm.Config.Template || vm.ResourcePool != nil {
		t.Errorf("template has %+v", vm)
	}
}

// UUIDs distinguish templates that are otherwise identical.
func TestUUIDsDifferAcrossDatacenters(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, vm := range simulator.Start(t, simulator.ThreeDatacenters()).Templates() {
		for _, id := range []string{vm.UUID, vm.InstanceUUID} {
			if other, ok := seen[id]; ok {
				t.Errorf("%s and %s share %s", other, vm.Folder, id)
			}
			seen[id] = vm.Folder
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d UUIDs, want 6", len(seen))
	}
}

func TestTagsOfLayout(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.HostGroups())
	c := connect(t, s, "dc-1")
	rc := rest.NewClient(c.Client.Client)
	must(0, rc.Login(t.Context(), userinfo(s)))(t)
	manager := tags.NewManager(rc)
	host := must(c.finder.HostSystem(t.Context(), "cluster-1/host-b-1"))(t)
	attached := must(manager.GetAttachedTags(t.Context(), host))(t)
	if len(attached) != 1 || attached[0].Name != "zone-b" {
		t.Fatalf("host has %+v", attached)
	}
	category := must(manager.GetCategory(t.Context(), attached[0].CategoryID))(t)
	if category.Name != simulator.ZoneCategory {
		t.Errorf("category is %q", category.Name)
	}
	if id, err := s.TagID("k8s-zone/zone-b"); err != nil || id != attached[0].ID {
		t.Errorf("TagID is %q, %v; want %q", id, err, attached[0].ID)
	}

	must(0, s.DetachTag("zone-b", "/dc-1/host/cluster-1/host-b-1"))(t)
	if attached := must(manager.GetAttachedTags(t.Context(), host))(t); len(attached) != 0 {
		t.Errorf("after detaching the host has %+v", attached)
	}
	must(0, s.AttachTag("zone-c", "/dc-1/host/cluster-1/host-b-1"))(t)
	if attached := must(manager.GetAttachedTags(t.Context(), host))(t); len(attached) != 1 || attached[0].Name != "zone-c" {
		t.Errorf("after attaching the host has %+v", attached)
	}
	if err := s.AttachTag("zone-x", "/dc-1"); err == nil {
		t.Error("attached a tag that does not exist")
	}
}

func TestInvalidLayouts(t *testing.T) {
	t.Parallel()
	cluster := []simulator.Cluster{{Name: "c", Hosts: []string{"h"}}}
	for want, dc := range map[string]simulator.Datacenter{
		`datastore "d"`:                 {Clusters: cluster, Datastores: []simulator.Datastore{{Name: "d", Clusters: []string{"x"}}}},
		`network "n"`:                   {Clusters: cluster, Networks: []simulator.Network{{Name: "n", Clusters: []string{"x"}}}},
		`no datastore ""`:               {Clusters: cluster, Templates: []simulator.Template{{Name: "t"}}},
		`"missing" does not exist`:      {Clusters: cluster, Templates: []simulator.Template{{Name: "t", Folder: "missing"}}},
		`the datacenter has no cluster`: {Templates: []simulator.Template{{Name: "t"}}},
		`host group "g"`:                {Clusters: []simulator.Cluster{{Name: "c", HostGroups: map[string][]string{"g": {"x"}}}}},
		`creating cluster "c"`:          {Clusters: append(slices.Clone(cluster), cluster...)},
	} {
		dc.Name = "dc"
		s, err := simulator.New(simulator.Layout{Datacenters: []simulator.Datacenter{dc}})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `datacenter "dc"`) {
			t.Errorf("error is %v, want one about %s", err, want)
		}
	}
}

func TestAddDatacenter(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	added := simulator.ThreeZones().Datacenters[0]
	added.Name = "dc-2"
	for i := range added.Clusters {
		added.Clusters[i].Hosts = []string{"dc-2-" + added.Clusters[i].Name}
	}
	must(0, s.AddDatacenter(added))(t)
	must(0, s.AttachTag(simulator.RegionTag, "/dc-2"))(t)

	c := connect(t, s, "dc-2")
	for _, path := range []string{"/dc-2/host/zone-b/dc-2-zone-b", "/dc-2/datastore/datastore-c", "/dc-2/vm/templates/ubuntu-2404", "/dc-1/host/zone-b/zone-b-host-1"} {
		if list := must(c.finder.ManagedObjectList(t.Context(), path))(t); len(list) != 1 {
			t.Errorf("%s: %d objects", path, len(list))
		}
	}
	cluster := must(c.finder.ClusterComputeResource(t.Context(), "zone-a"))(t)
	if got, want := c.reachable(cluster.Reference()), []string{"VM Network", "datastore-a", "network-a", "shared"}; !slices.Equal(got, want) {
		t.Errorf("zone-a of the added datacenter reaches %q, want %q", got, want)
	}
	if err := s.AddDatacenter(added); err == nil {
		t.Error("added a datacenter whose name is taken")
	}
}
