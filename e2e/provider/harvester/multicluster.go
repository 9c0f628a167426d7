// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const (
	// siteMemory is the memory of a machine. Harvester reserves two thirds of it on a host. sitePlace is the memory of a host for each
	// machine: these 1024 MiB, and 256 MiB that the virt-launcher uses almost completely.
	siteMemory, sitePlace = "1536Mi", 1280 << 20
	// siteReset replaces the three minutes and more that Harvester takes.
	siteReset = time.Second
)

// multiCluster are zones of one simulated Harvester without delays, except siteReset until a zone without power is declared lost.
type multiCluster struct{ *simulation }

// MultiCluster implements provider.RebalanceProvider.
func (Provider) MultiCluster(programs string) (provider.MultiCluster, error) {
	s, err := newSimulation(programs, simulator.Layout{}, simulator.WithDelays(simulator.Delays{Reset: siteReset}))
	if err != nil {
		return nil, err
	}
	return &multiCluster{s}, nil
}

// Setup implements provider.MultiCluster.
func (s *multiCluster) Setup(dir string) (provider.Setup, error) {
	setup, err := s.simulation.Setup(dir)
	if err != nil {
		return provider.Setup{}, err
	}
	// No machine boots that would use a network card.
	setup.Variables["VM_MEMORY"], setup.Variables["VIP_NETWORK_INTERFACE"] = siteMemory, "lo"
	return setup, nil
}

// AddCluster implements provider.MultiCluster.
func (s *multiCluster) AddCluster(ctx context.Context, _ *managementcluster.Cluster, cluster *unstructured.Unstructured, domains []string, room int) error {
	for _, zone := range domains {
		if err := s.addHost(ctx, zone, zone+"-host", room); err != nil {
			return err
		}
	}
	return provider.ListDomains(cluster, domains, nil)
}

// AddCapacity implements provider.UncountedCapacity: it adds a host to the zone.
func (s *multiCluster) AddCapacity(ctx context.Context, zone string, machines int) error {
	return s.addHost(ctx, zone, zone+"-added-host", machines)
}

func (s *multiCluster) addHost(ctx context.Context, zone, name string, machines int) error {
	return s.harvester.AddHost(ctx, simulator.Host{
		Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone},
		Memory: *resource.NewQuantity(int64(machines)*sitePlace, resource.BinarySI),
	})
}
