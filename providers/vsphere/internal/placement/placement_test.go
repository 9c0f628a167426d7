// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
)

const server = "vcenter.example.com"

func newCluster(changes ...func(*infrav1.VSphereCluster)) *infrav1.VSphereCluster {
	cluster := &infrav1.VSphereCluster{Spec: infrav1.VSphereClusterSpec{Server: server, Thumbprint: "of the cluster"}}
	for _, change := range changes {
		change(cluster)
	}
	return cluster
}

// newZone returns a zone of one compute cluster with only the required fields.
func newZone(name string, changes ...func(*placement.Zone)) *placement.Zone {
	zone := &placement.Zone{
		VSphereDeploymentZone: infrav1.VSphereDeploymentZone{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       infrav1.VSphereDeploymentZoneSpec{Server: server, FailureDomain: "domain-" + name},
		},
		Domain: &infrav1.VSphereFailureDomain{
			ObjectMeta: metav1.ObjectMeta{Name: "domain-" + name},
			Spec: infrav1.VSphereFailureDomainSpec{
				Region:   infrav1.FailureDomain{Name: "region-1", TagCategory: "k8s-region", Type: infrav1.DatacenterFailureDomain},
				Zone:     infrav1.FailureDomain{Name: name, TagCategory: "k8s-zone", Type: infrav1.ComputeClusterFailureDomain},
				Topology: infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "cluster-1"},
			},
		},
	}
	for _, change := range changes {
		change(zone)
	}
	return zone
}

// newMachine returns a machine with a distinct value for every field that a zone can set.
func newMachine() *infrav1.VSphereMachine {
	return &infrav1.VSphereMachine{Spec: infrav1.VSphereMachineSpec{
		VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{
			Template: "template", Server: "other.example.com", Thumbprint: "of the machine", Datacenter: "dc-9",
			Folder: "folder", Datastore: "datastore", ResourcePool: "pool", NumCPUs: 4,
			Network: infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{NetworkName: "network", DHCP4: ptr.To(true)}}},
		},
		PowerOffMode:                    infrav1.VirtualMachinePowerOpModeTrySoft,
		GuestSoftPowerOffTimeoutSeconds: 30,
	}}
}

func TestMachineWithoutZoneKeepsItsOwnPlacement(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := newMachine()
	spec, err := placement.VM(newCluster(), machine, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(spec.VirtualMachineCloneSpec).To(Equal(machine.Spec.VirtualMachineCloneSpec))
	g.Expect(spec.Placement).To(BeZero())
	g.Expect(spec.PowerOffMode).To(Equal(infrav1.VirtualMachinePowerOpModeTrySoft))
	g.Expect(spec.GuestSoftPowerOffTimeoutSeconds).To(BeEquivalentTo(30))
}

func TestClusterDefaults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := newMachine()
	machine.Spec.Server, machine.Spec.Thumbprint = "", ""
	spec, err := placement.VM(newCluster(), machine, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(spec.Server).To(Equal(server))
	g.Expect(spec.Thumbprint).To(Equal("of the cluster"))
}

func TestZoneTakesPrecedence(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	zone := newZone("a", func(z *placement.Zone) {
		z.Spec.Server, z.Spec.Thumbprint = "zone.example.com", "of the zone"
		z.Spec.PlacementConstraint = infrav1.PlacementConstraint{Folder: "zone-folder", ResourcePool: "zone-pool"}
		z.Domain.Spec.Topology = infrav1.Topology{
			Datacenter: "dc-a", ComputeCluster: "cluster-a", Datastore: "zone-datastore", Template: "zone-template",
			Networks: []string{"zone-network"},
			Hosts:    infrav1.FailureDomainHosts{VMGroupName: "vms", HostGroupName: "hosts"},
		}
	})
	spec, err := placement.VM(newCluster(), newMachine(), zone)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(spec.Server).To(Equal("zone.example.com"))
	g.Expect(spec.Thumbprint).To(Equal("of the zone"))
	g.Expect(spec.Datacenter).To(Equal("dc-a"))
	g.Expect(spec.Folder).To(Equal("zone-folder"))
	g.Expect(spec.ResourcePool).To(Equal("zone-pool"))
	g.Expect(spec.Datastore).To(Equal("zone-datastore"))
	g.Expect(spec.Template).To(Equal("zone-template"))
	g.Expect(spec.Network.Devices).To(HaveLen(1))
	g.Expect(spec.Network.Devices[0].NetworkName).To(Equal("zone-network"))
	g.Expect(spec.Network.Devices[0].DHCP4).To(HaveValue(BeTrue()), "what the zone does not say about a card is the machine's")
	g.Expect(spec.Placement).To(Equal(infrav1.VSphereVMPlacement{
		FailureDomain: "a", ComputeCluster: "cluster-a", VMGroupName: "vms", HostGroupName: "hosts",
	}))
	g.Expect(spec.NumCPUs).To(BeEquivalentTo(4), "a zone does not set the size")
}

// A template can be older than a renewed certificate; with the old thumbprint its machines can be neither created nor deleted.
func TestThumbprintSource(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		server        string
		cluster, zone string // thumbprints
		zoneServer    string
		want          string
	}{
		"of the zone":                          {server, "of the cluster", "of the zone", server, "of the zone"},
		"of the cluster":                       {server, "of the cluster", "", server, "of the cluster"},
		"of the cluster, in another spelling":  {"https://VCenter.example.com:443/sdk", "of the cluster", "", "", "of the cluster"},
		"of the machine, on another server":    {"other.example.com", "of the cluster", "", "", "of the machine"},
		"of the machine, whose zone has moved": {"other.example.com", "of the cluster", "of the zone", server, "of the machine"},
		"of the machine, as no other has it":   {server, "", "", server, "of the machine"},
		"of the zone on another server":        {"other.example.com", "of the cluster", "of the zone", "other.example.com", "of the zone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			cluster := newCluster(func(c *infrav1.VSphereCluster) { c.Spec.Thumbprint = tc.cluster })
			zone := newZone("a", func(z *placement.Zone) { z.Spec.Thumbprint, z.Spec.Server = tc.zone, tc.zoneServer })
			g.Expect(placement.Thumbprint(tc.server, cluster, &zone.VSphereDeploymentZone, "of the machine")).To(Equal(tc.want))
			if tc.zone == "" {
				g.Expect(placement.Thumbprint(tc.server, cluster, nil, "of the machine")).To(Equal(tc.want))
			}
		})
	}
}

func TestClusterThumbprintIsNotUsedForOtherServer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := newMachine()
	machine.Spec.Thumbprint = ""
	spec, err := placement.VM(newCluster(), machine, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(spec.Thumbprint).To(BeEmpty())
}

func TestZoneWithFewFieldsKeepsOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	zone := newZone("a", func(z *placement.Zone) { z.Domain.Spec.Topology.ComputeCluster = "" })
	spec, err := placement.VM(newCluster(), newMachine(), zone)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(spec.Server).To(Equal(server), "the server is the zone's in any case")
	g.Expect(spec.Datacenter).To(Equal("dc-1"), "and so is the datacenter")
	g.Expect(spec.Folder).To(Equal("folder"))
	g.Expect(spec.ResourcePool).To(Equal("pool"), "without a compute cluster the pool may be anywhere")
	g.Expect(spec.Datastore).To(Equal("datastore"))
	g.Expect(spec.Template).To(Equal("template"))
	g.Expect(spec.Network.Devices[0].NetworkName).To(Equal("network"))
}

func TestMachinePoolIsKeptWithoutZonePool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec, err := placement.VM(newCluster(), newMachine(), newZone("a"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(spec.ResourcePool).To(Equal("pool"))
	g.Expect(spec.Placement.ComputeCluster).To(Equal("cluster-1"))
	g.Expect(spec.Placement.MachineResourcePool).To(HaveValue(BeTrue()), "the pool may be in another compute cluster")

	machine := newMachine()
	machine.Spec.ResourcePool = ""
	spec, err = placement.VM(newCluster(), machine, newZone("a"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(spec.Placement.MachineResourcePool).To(BeNil(), "the machine has none")
}

func TestZoneWithoutFailureDomainPlacesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	zone := newZone("a", func(z *placement.Zone) { z.Domain = nil })
	spec, err := placement.VM(newCluster(), newMachine(), zone)
	g.Expect(err).To(MatchError(ContainSubstring("domain-a")))
	g.Expect(spec).To(BeZero(), "above all not the machine's own placement")
}

func TestPlacementDoesNotModifyArguments(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := newMachine()
	zone := newZone("a", func(z *placement.Zone) { z.Domain.Spec.Topology.Networks = []string{"one", "two"} })
	before, zoneBefore := machine.DeepCopy(), zone.Domain.DeepCopy()
	_, err := placement.VM(newCluster(), machine, zone)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(machine).To(Equal(before))
	g.Expect(zone.Domain).To(Equal(zoneBefore))
}

func TestSelects(t *testing.T) {
	t.Parallel()
	selecting := func(selector *metav1.LabelSelector) func(*infrav1.VSphereCluster) {
		return func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = selector }
	}
	for name, tc := range map[string]struct {
		selector *metav1.LabelSelector
		server   string
		want     bool
	}{
		"no selector":                        {nil, server, false},
		"an empty selector":                  {&metav1.LabelSelector{}, server, true},
		"an empty selector, another server":  {&metav1.LabelSelector{}, "other.example.com", false},
		"a selector that matches":            {&metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "one"}}, server, true},
		"a selector that does not":           {&metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "two"}}, server, false},
		"a selector that cannot be a one":    {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tenant", Operator: "Near"}}}, server, false},
		"a match on another server":          {&metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "one"}}, "other.example.com", false},
		"a selector that excludes":           {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tenant", Operator: metav1.LabelSelectorOpDoesNotExist}}}, server, false},
		"a selector for one of many tenants": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tenant", Operator: metav1.LabelSelectorOpIn, Values: []string{"one", "two"}}}}, server, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			zone := newZone("a", func(z *placement.Zone) {
				z.Spec.Server, z.Labels = tc.server, map[string]string{"tenant": "one"}
			})
			g.Expect(placement.Selects(newCluster(selecting(tc.selector)), &zone.VSphereDeploymentZone)).To(Equal(tc.want))
		})
	}
}

func TestSelectedOrder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := newCluster(func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = &metav1.LabelSelector{} })
	zones := []placement.Zone{*newZone("a"), *newZone("b", func(z *placement.Zone) { z.Spec.Server = "other.example.com" }), *newZone("c")}
	selected := placement.Selected(cluster, zones)
	g.Expect(selected).To(HaveLen(2))
	g.Expect([]string{selected[0].Name, selected[1].Name}).To(Equal([]string{"a", "c"}))
	g.Expect(zones[1].Name).To(Equal("b"), "the list that was given is as it was")
	cluster.Spec.AdditionalServers = []string{"https://Other.example.com/sdk"}
	g.Expect(placement.Selected(cluster, zones)).To(HaveLen(3), "the cluster adds the server")
	cluster.Spec.FailureDomainSelector = nil
	g.Expect(placement.Selected(cluster, zones)).To(BeEmpty())
}
