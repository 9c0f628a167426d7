// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/workload"
)

// SitesProvider is a provider that can lay out failure domains for many clusters side by side. Not every provider needs to.
type SitesProvider interface {
	// Sites prepares its infrastructure in this process. The folder programs has those of the Description, etcd and kube-apiserver.
	Sites(programs string) (Sites, error)
}

// Sites are the failure domains of many clusters, each in a namespace of its own.
type Sites interface {
	// Setup is that of a Simulation.
	Setup(dir string) (Setup, error)
	// Flavor is that of the cluster template whose control-plane endpoint is where the variables of kube-vip say.
	Flavor() string
	// Run keeps the infrastructure going until ctx ends.
	Run(ctx context.Context, in *managementcluster.Cluster, workloads *workload.Simulator) error
	// AddCluster makes the failure domains of a cluster, with room for so many machines each, and changes the provider's object that
	// stands for the Cluster so that it has them. The names of domains are no other cluster's.
	AddCluster(ctx context.Context, in *managementcluster.Cluster, cluster *unstructured.Unstructured, domains []string, room int) error
	// Lose takes a failure domain away with all that runs there, Restore gives it back.
	Lose(ctx context.Context, domain string) error
	Restore(ctx context.Context, domain string) error
	// Close ends what was prepared.
	Close()
}

// Uncounted are Sites of a provider that does not know how many more machines a failure domain has room for. It begins to move a machine to
// one that is full, and the new machine waits there for room.
type Uncounted interface {
	// AddRoom adds room for so many machines to a failure domain, once.
	AddRoom(ctx context.Context, domain string, machines int) error
}

// Unbounded are Sites of a provider whose failure domains have room for any number of machines.
type Unbounded interface{ Unbounded() }

// ListDomains has the provider's object that stands for a Cluster list failure domains, each with the same further fields.
func ListDomains(cluster *unstructured.Unstructured, names []string, further map[string]any) error {
	var listed []any
	for _, name := range names {
		domain := map[string]any{"name": name}
		maps.Copy(domain, further)
		listed = append(listed, domain)
	}
	if err := unstructured.SetNestedSlice(cluster.Object, listed, "spec", "failureDomains"); err != nil {
		return fmt.Errorf("listing the failure domains of %s: %w", cluster.GetName(), err)
	}
	return nil
}
