// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/workload"
)

// SitesProvider is a provider that can lay out failure domains for many clusters side by side. Not every provider needs to.
type SitesProvider interface {
	// Sites prepares its infrastructure in this process.
	Sites() Sites
}

// Sites are the failure domains of many clusters, each in a namespace of its own.
type Sites interface {
	// Setup is that of a Simulation.
	Setup(dir string) (Setup, error)
	// Run keeps the infrastructure going until ctx ends.
	Run(ctx context.Context, in *managementcluster.Cluster, workloads *workload.Simulator) error
	// AddCluster makes the failure domains of a cluster, with room for so many machines each, and changes the provider's object that
	// stands for the Cluster so that it has them. The names of domains are no other cluster's.
	AddCluster(ctx context.Context, in *managementcluster.Cluster, cluster *unstructured.Unstructured, domains []string, room int) error
	// Lose takes a failure domain away with all that runs there, Restore gives it back.
	Lose(ctx context.Context, domain string) error
	Restore(ctx context.Context, domain string) error
}
