// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harvester implements the provider for Harvester with a simulated Harvester cluster.
package harvester

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// Provider is the provider for Harvester.
type Provider struct{}

func zoneNames() []string { return []string{"zone-a", "zone-b", "zone-c"} }

// Describe implements provider.Provider.
func (Provider) Describe() provider.Description {
	version := infrav1.GroupVersion
	return provider.Description{
		Name: "harvester", System: "Harvester", Namespace: "caphv-system", Certificate: "caphv-webhook-service-cert",
		Domains: zoneNames(), BreakStops: true, ClusterKind: "HarvesterCluster", Programs: []string{binaries.Scheduler},
		ExternalEndpoint: "external-endpoint",
		Kinds: map[schema.GroupVersionKind]string{
			version.WithKind("HarvesterCluster"):         clusterv1.ReadyCondition,
			version.WithKind("HarvesterMachine"):         clusterv1.ReadyCondition,
			version.WithKind("HarvesterMachineTemplate"): "",
		},
		Shown: []string{"HarvesterCluster ", "FailureDomainsReady", "VMRunning"},
	}
}

// AddToScheme implements provider.Provider.
func (Provider) AddToScheme(scheme *runtime.Scheme) error { return infrav1.AddToScheme(scheme) }

// Objects returns none: Harvester is outside the management cluster.
func (Provider) Objects() ([]*unstructured.Unstructured, error) { return nil, nil }
