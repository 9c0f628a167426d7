// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

func in(topology infrav1.Topology) func(*placement.Zone) {
	return func(z *placement.Zone) { z.Domain.Spec.Topology = topology }
}

func TestObserve(t *testing.T) {
	t.Parallel()
	cluster1 := vcenter.Location{Datacenter: "/dc-1", ComputeCluster: "/dc-1/host/cluster-1", HostGroups: []string{"hosts-a"}}
	for name, tc := range map[string]struct {
		location  vcenter.Location
		zones     []placement.Zone
		requested string
		want      string
	}{
		"in the requested zone": {cluster1, []placement.Zone{*newZone("a")}, "a", "a"},
		"not in the requested zone": {
			cluster1, []placement.Zone{*newZone("a", in(infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "cluster-2"})), *newZone("b")}, "a", "b",
		},
		"in two zones of one domain: the requested one":         {cluster1, []placement.Zone{*newZone("a"), *newZone("b")}, "b", "b"},
		"in two zones, a third is requested: the first by name": {cluster1, []placement.Zone{*newZone("a"), *newZone("b")}, "c", "a"},
		"in no zone":               {vcenter.Location{Datacenter: "/dc-2", ComputeCluster: "/dc-2/host/cluster-1"}, []placement.Zone{*newZone("a")}, "a", ""},
		"nowhere":                  {vcenter.Location{}, []placement.Zone{*newZone("a")}, "a", ""},
		"without zones":            {cluster1, nil, "a", ""},
		"a zone of another server": {cluster1, []placement.Zone{*newZone("a", func(z *placement.Zone) { z.Spec.Server = "other.example.com" })}, "a", ""},
		"a zone that has lost its failure domain": {
			cluster1, []placement.Zone{*newZone("a", func(z *placement.Zone) { z.Domain = nil })}, "a", "",
		},
		"a zone that is a whole datacenter": {cluster1, []placement.Zone{*newZone("a", in(infrav1.Topology{Datacenter: "dc-1"}))}, "a", "a"},
		"a zone of a host group": {
			cluster1, []placement.Zone{*newZone("a", in(hostGroup("hosts-a"))), *newZone("b", in(hostGroup("hosts-b")))}, "a", "a",
		},
		"moved out of its host group by DRS": {
			cluster1, []placement.Zone{*newZone("a", in(hostGroup("hosts-a"))), *newZone("b", in(hostGroup("hosts-b")))}, "b", "a",
		},
		"named by inventory paths": {
			cluster1, []placement.Zone{*newZone("a", in(infrav1.Topology{Datacenter: "/dc-1", ComputeCluster: "/dc-1/host/cluster-1"}))}, "a", "a",
		},
		"named by the path below the datacenter's folder": {
			cluster1, []placement.Zone{*newZone("a", in(infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "cluster-1"}))}, "a", "a",
		},
		"the clusters of one name in two folders": {
			vcenter.Location{Datacenter: "/dc-1", ComputeCluster: "/dc-1/host/west/c1"}, []placement.Zone{
				*newZone("a", in(infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "east/c1"})),
				*newZone("b", in(infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "west/c1"})),
			}, "a", "b",
		},
		"named by patterns": {
			vcenter.Location{Datacenter: "/dc-1", ComputeCluster: "/dc-1/host/rack-7"}, []placement.Zone{
				*newZone("a", in(infrav1.Topology{Datacenter: "*", ComputeCluster: "row-*"})),
				*newZone("b", in(infrav1.Topology{Datacenter: "dc-?", ComputeCluster: "rack-*"})),
			}, "a", "b",
		},
		"a name with a slash": {
			vcenter.Location{Datacenter: "/dc-1", ComputeCluster: "/dc-1/host/east%2fc1"},
			[]placement.Zone{*newZone("a", in(infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "east/c1"}))}, "a", "a",
		},
		"the path of a cluster of the same name elsewhere": {
			cluster1, []placement.Zone{*newZone("a", in(infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "/dc-1/host/folder/cluster-1"}))}, "a", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(placement.Observe(tc.location, server, tc.zones, tc.requested)).To(Equal(tc.want))
		})
	}
}

func hostGroup(name string) infrav1.Topology {
	return infrav1.Topology{
		Datacenter: "dc-1", ComputeCluster: "cluster-1",
		Hosts: infrav1.FailureDomainHosts{HostGroupName: name, VMGroupName: "vms"},
	}
}

func TestCheckCoversAllZoneFields(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	zone := newZone("a", in(infrav1.Topology{
		Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: "datastore", Networks: []string{"one"},
		NetworkConfigurations: []infrav1.NetworkConfiguration{{NetworkName: "two"}},
		Hosts:                 infrav1.FailureDomainHosts{HostGroupName: "hosts", VMGroupName: "vms"},
	}))
	zone.Spec.PlacementConstraint = infrav1.PlacementConstraint{ResourcePool: "pool", Folder: "folder"}
	g.Expect(placement.Check(zone)).To(Equal(vcenter.ZoneSpec{
		Placement: vcenter.Placement{
			Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: "datastore", ResourcePool: "pool", Folder: "folder",
			Networks: []string{"one", "two"}, VMGroup: "vms", HostGroup: "hosts",
		},
		Region: vcenter.ZoneTag{Name: "region-1", Category: "k8s-region", Type: "Datacenter"},
		Zone:   vcenter.ZoneTag{Name: "a", Category: "k8s-zone", Type: "ComputeCluster"},
	}))
	g.Expect(zone.Domain.Spec.Topology.Networks).To(Equal([]string{"one"}), "the failure domain is not added to")
}
