// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// multiCluster are datacenters of one vCenter, one for each cluster. Their compute clusters are the zones, each with its own
// datastore and network.
type multiCluster struct {
	*simulation

	vcenter *simulator.Server
}

// MultiCluster implements provider.RebalanceProvider.
func (Provider) MultiCluster(string) (provider.MultiCluster, error) {
	vcenter, err := simulator.New(simulator.Layout{Tags: []simulator.Tag{{Category: simulator.RegionCategory, Name: simulator.RegionTag}}})
	if err != nil {
		return nil, fmt.Errorf("starting the vCenter simulator: %w", err)
	}
	return &multiCluster{simulation: &simulation{vcenters: []*simulator.Server{vcenter}}, vcenter: vcenter}, nil
}

// UnboundedCapacity implements provider.UnboundedCapacity. The hosts of vcsim accept any number of virtual machines.
func (*multiCluster) UnboundedCapacity() {}

// AddCluster implements provider.MultiCluster.
func (s *multiCluster) AddCluster(ctx context.Context, in *managementcluster.Cluster, cluster *unstructured.Unstructured, domains []string, _ int) error {
	name := cluster.GetName()
	if err := s.addDatacenter(name, domains); err != nil { //nolint:contextcheck // The simulator needs no context.
		return err
	}
	labels := map[string]any{}
	for key, value := range zoneLabels(name) {
		labels[key] = value
	}
	if err := unstructured.SetNestedMap(cluster.Object, labels, "spec", "failureDomainSelector", "matchLabels"); err != nil {
		return fmt.Errorf("selecting the zones of %s: %w", name, err)
	}
	c, err := provider.Connect(Provider{}, in.RESTConfig)
	if err != nil {
		return err
	}
	for _, zone := range domains {
		domain, deployment := newZone(&provider.Cluster{Name: name}, zone, s.vcenter, infrav1.VSphereFailureDomainSpec{
			Region:   infrav1.FailureDomain{Name: simulator.RegionTag, Type: infrav1.DatacenterFailureDomain, TagCategory: simulator.RegionCategory},
			Zone:     infrav1.FailureDomain{Name: zone, Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.ZoneCategory},
			Topology: infrav1.Topology{Datacenter: name, ComputeCluster: zone, Datastore: "datastore-" + zone, Networks: []string{"network-" + zone}},
		})
		if err := provider.Create(ctx, c, domain, deployment); err != nil {
			return err
		}
	}
	return nil
}

// addDatacenter creates a datacenter with a compute cluster for each zone.
func (s *multiCluster) addDatacenter(name string, zones []string) error {
	dc := simulator.ThreeZones().Datacenters[0]
	dc.Name, dc.Clusters, dc.Datastores, dc.Networks = name, nil, dc.Datastores[:1], dc.Networks[:1]
	for _, zone := range zones {
		of := []string{zone}
		dc.Clusters = append(dc.Clusters, simulator.Cluster{Name: zone, Hosts: []string{zone + "-host"}})
		dc.Datastores = append(dc.Datastores, simulator.Datastore{Name: "datastore-" + zone, Clusters: of})
		dc.Networks = append(dc.Networks, simulator.Network{Name: "network-" + zone, Clusters: of})
	}
	if err := s.vcenter.AddDatacenter(dc); err != nil {
		return fmt.Errorf("adding datacenter %s: %w", name, err)
	}
	if err := s.vcenter.AttachTag(simulator.RegionCategory+"/"+simulator.RegionTag, "/"+name); err != nil {
		return fmt.Errorf("tagging datacenter %s: %w", name, err)
	}
	for _, zone := range zones {
		if err := s.vcenter.MakeTag(simulator.Tag{Category: simulator.ZoneCategory, Name: zone, On: []string{"/" + name + "/host/" + zone}}); err != nil {
			return fmt.Errorf("tagging compute cluster %s: %w", zone, err)
		}
	}
	return nil
}

// Break implements provider.MultiCluster. vCenter loses the hosts of the zone, and the Nodes there stop.
func (s *multiCluster) Break(ctx context.Context, zone string) (string, error) {
	if err := s.vcenter.DisconnectHosts(zone); err != nil {
		return "", fmt.Errorf("losing the hosts of %s: %w", zone, err)
	}
	s.setReady(ctx, zone, false)
	return "lost the hosts of " + zone, nil
}

// Repair implements provider.MultiCluster.
func (s *multiCluster) Repair(ctx context.Context, zone string) (string, error) {
	if err := s.vcenter.ReconnectHosts(zone); err != nil {
		return "", fmt.Errorf("restoring the hosts of %s: %w", zone, err)
	}
	s.setReady(ctx, zone, true)
	return "restored the hosts of " + zone, nil
}

// setReady stops or restarts the Nodes in a zone. Virtual machines without a Node are skipped.
func (s *multiCluster) setReady(ctx context.Context, zone string, ready bool) {
	for _, vm := range s.vcenter.VMs() {
		if vm.Cluster == zone {
			_ = s.workloads.SetNodeReady(ctx, client.ObjectKey{Namespace: vm.Datacenter, Name: vm.Name}, ready)
		}
	}
}
