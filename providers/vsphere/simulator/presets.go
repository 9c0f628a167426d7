// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "fmt"

// Names shared by the predefined layouts.
const (
	// RegionCategory is the tag category of regions.
	RegionCategory = "k8s-region"
	// ZoneCategory is the tag category of zones.
	ZoneCategory = "k8s-zone"
	// RegionTag is the only region of every layout.
	RegionTag = "region-1"
	// TemplateName is the template of every datacenter. It is in the folder "templates" and has one snapshot, "base".
	TemplateName = "ubuntu-2404"
	// NetworkName is a network that every host is connected to.
	NetworkName = "VM Network"
	// SharedDatastore is a datastore that every host of a datacenter mounts.
	SharedDatastore = "shared"
)

// ThreeZones returns a datacenter "dc-1" with compute clusters zone-a, zone-b and zone-c. Each has two hosts (zone-a-host-1,
// ...), a resource pool "workload", a datastore and a network of its own (datastore-a, network-a), and the zone tag of its name.
// The datacenter has the region tag.
func ThreeZones() Layout {
	dc := commonDatacenter("dc-1")
	tags := []Tag{{Category: RegionCategory, Name: RegionTag, On: []string{"/dc-1"}}}
	for _, letter := range []string{"a", "b", "c"} {
		zone := "zone-" + letter
		dc.Clusters = append(dc.Clusters, Cluster{
			Name:  zone,
			Hosts: []string{zone + "-host-1", zone + "-host-2"},
			Pools: []string{"workload"},
		})
		dc.Datastores = append(dc.Datastores, Datastore{Name: "datastore-" + letter, Clusters: []string{zone}})
		dc.Networks = append(dc.Networks, Network{Name: "network-" + letter, Clusters: []string{zone}})
		tags = append(tags, Tag{Category: ZoneCategory, Name: zone, On: []string{"/dc-1/host/" + zone}})
	}
	return Layout{Datacenters: []Datacenter{dc}, Tags: tags}
}

// ThreeDatacenters returns dc-a, dc-b and dc-c, which differ only in their names: one compute cluster "cluster-1" of two hosts,
// pool "workload", and the template. Each datacenter has the region tag and a zone tag (zone-a, ...).
func ThreeDatacenters() Layout {
	region := Tag{Category: RegionCategory, Name: RegionTag}
	layout := Layout{}
	for _, letter := range []string{"a", "b", "c"} {
		dc := commonDatacenter("dc-" + letter)
		dc.Clusters = []Cluster{{
			Name:  "cluster-1",
			Hosts: []string{dc.Name + "-host-1", dc.Name + "-host-2"},
			Pools: []string{"workload"},
		}}
		layout.Datacenters = append(layout.Datacenters, dc)
		region.On = append(region.On, "/"+dc.Name)
		layout.Tags = append(layout.Tags, Tag{Category: ZoneCategory, Name: "zone-" + letter, On: []string{"/" + dc.Name}})
	}
	layout.Tags = append(layout.Tags, region)
	return layout
}

// HostGroups returns a datacenter "dc-1" with one compute cluster "cluster-1" of six hosts in three racks. For rack-a, rack-b and
// rack-c there are a host group (rack-a-hosts: host-a-1 and host-a-2), an empty VM group (rack-a-vms) and a rule (rack-a) that
// the VMs must run on the hosts. The cluster has the region tag, every host the zone tag of its rack (zone-a, ...).
func HostGroups() Layout {
	const cluster = "/dc-1/host/cluster-1"
	dc := commonDatacenter("dc-1")
	c := Cluster{
		Name:       "cluster-1",
		Pools:      []string{"workload"},
		HostGroups: map[string][]string{},
		VMGroups:   map[string][]string{},
	}
	tags := []Tag{{Category: RegionCategory, Name: RegionTag, On: []string{cluster}}}
	for _, letter := range []string{"a", "b", "c"} {
		rack, zone := "rack-"+letter, Tag{Category: ZoneCategory, Name: "zone-" + letter}
		for i := 1; i <= 2; i++ {
			host := fmt.Sprintf("host-%s-%d", letter, i)
			c.Hosts = append(c.Hosts, host)
			c.HostGroups[rack+"-hosts"] = append(c.HostGroups[rack+"-hosts"], host)
			zone.On = append(zone.On, cluster+"/"+host)
		}
		c.VMGroups[rack+"-vms"] = nil
		c.Rules = append(c.Rules, Rule{Name: rack, VMGroup: rack + "-vms", HostGroup: rack + "-hosts"})
		tags = append(tags, zone)
	}
	dc.Clusters = []Cluster{c}
	return Layout{Datacenters: []Datacenter{dc}, Tags: tags}
}

func commonDatacenter(name string) Datacenter {
	return Datacenter{
		Name:       name,
		Folders:    []string{"templates", "workload"},
		Datastores: []Datastore{{Name: SharedDatastore}},
		Networks:   []Network{{Name: NetworkName}},
		Templates: []Template{{
			Name: TemplateName, Folder: "templates", Datastore: SharedDatastore,
			Snapshots: []string{"base"}, Networks: []string{NetworkName},
		}},
	}
}
