// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/managementcluster"
)

// RebalanceProvider is a provider that can host many clusters at once, each with its own failure domains, so that moves of their control
// planes can be tested. It is optional.
type RebalanceProvider interface {
	Provider

	// MultiCluster prepares the infrastructure in this process. The folder programs has the programs of the Description, etcd and
	// kube-apiserver.
	MultiCluster(programs string) (MultiCluster, error)
}

// MultiCluster is an Infrastructure with the failure domains of many clusters, each in its own namespace. Break also powers off everything
// that runs in a failure domain.
type MultiCluster interface {
	Infrastructure
	// AddCluster creates the failure domains of a cluster, each with capacity for room machines, and adds them to the infrastructure
	// cluster, which has the name of its namespace. The names of domains are unique among clusters.
	AddCluster(ctx context.Context, in *managementcluster.Cluster, cluster *unstructured.Unstructured, domains []string, room int) error
}

// UncountedCapacity is implemented by a MultiCluster whose provider does not know the capacity of a failure domain. The provider
// begins to move a machine to a full one, and the new machine waits there.
type UncountedCapacity interface {
	// AddCapacity adds capacity for machines to a failure domain. It may be called once for each.
	AddCapacity(ctx context.Context, domain string, machines int) error
}

// UnboundedCapacity is implemented by a MultiCluster whose failure domains have unlimited capacity.
type UnboundedCapacity interface{ UnboundedCapacity() }

// ListDomains sets the failure domains of an infrastructure cluster, each with the same additional fields.
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
