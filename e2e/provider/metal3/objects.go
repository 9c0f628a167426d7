// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// createCluster creates a cluster and the hosts of a layout, whose domains are the cluster's failure domains, and waits until the manager
// has counted all hosts as free.
func createCluster(ctx context.Context, api client.Client, name string, layout simulator.Layout) (*provider.Cluster, error) {
	c := &provider.Cluster{Name: name, Kind: "Metal3"}
	if err := c.Create(ctx, api); err != nil {
		return nil, err
	}
	if err := simulator.Create(ctx, api, name, layout); err != nil {
		return nil, err
	}
	infra := infrastructure(c, layout)
	if err := provider.Create(ctx, api, infra); err != nil {
		return nil, err
	}
	missing := func(domain simulator.Domain) bool {
		return !slices.ContainsFunc(infra.Status.FailureDomains, func(published clusterv1.FailureDomain) bool {
			return published.Name == domain.Name && published.Attributes["freeHosts"] == strconv.Itoa(domain.Hosts)
		})
	}
	return c, provider.Await(ctx, api, infra, "the failure domains", func() bool { return !slices.ContainsFunc(layout.Domains, missing) })
}

// infrastructure returns the Metal3Cluster of a cluster whose failure domains are those of a layout.
func infrastructure(c *provider.Cluster, layout simulator.Layout) *infrav1.Metal3Cluster {
	infra := &infrav1.Metal3Cluster{ObjectMeta: c.Meta(c.Name), Spec: infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: provider.Endpoint().Host, Port: provider.Endpoint().Port},
	}}
	infra.OwnerReferences = []metav1.OwnerReference{c.Owner}
	for _, domain := range layout.Domains {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: domain.Name, ControlPlane: new(true)})
	}
	return infra
}

// newMachine returns a machine that any host satisfies.
func newMachine(meta metav1.ObjectMeta) *infrav1.Metal3Machine {
	return &infrav1.Metal3Machine{ObjectMeta: meta, Spec: infrav1.Metal3MachineSpec{
		Image: infrav1.Image{URL: "https://images.example.com/node.qcow2", Checksum: strings.Repeat("0", 64)},
	}}
}
