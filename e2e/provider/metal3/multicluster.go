// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// multiCluster are racks of hosts in many namespaces that one simulated bare-metal operator manages, without delays.
type multiCluster struct {
	*simulation
	racked atomic.Int64 // number of the hosts created so far
}

// MultiCluster implements provider.RebalanceProvider.
func (Provider) MultiCluster(string) (provider.MultiCluster, error) {
	return &multiCluster{simulation: newSimulation(simulator.WithoutEvents())}, nil
}

// AddCluster implements provider.MultiCluster.
func (s *multiCluster) AddCluster(ctx context.Context, in *managementcluster.Cluster, cluster *unstructured.Unstructured, domains []string, room int) error {
	layout := simulator.Layout{Ready: true}
	for _, rack := range domains {
		layout.Domains = append(layout.Domains, simulator.Domain{Name: rack, Hosts: room})
	}
	hosts := len(domains) * room
	layout.First = int(s.racked.Add(int64(hosts))) - hosts + 1
	if err := provider.ListDomains(cluster, domains, map[string]any{"controlPlane": true}); err != nil {
		return err
	}
	c, err := provider.Connect(Provider{}, in.RESTConfig)
	if err != nil {
		return err
	}
	return simulator.Create(ctx, c, cluster.GetNamespace(), layout)
}
