// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3 implements the provider for bare metal with simulated hosts.
package metal3

import (
	"errors"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// Provider is the provider for metal3.
type Provider struct {
	// Operator, if it has a Program, is the real operator, which then manages the hosts of the demo.
	Operator Operator
}

func rackNames() []string { return []string{"rack-a", "rack-b", "rack-c"} }

// Describe implements provider.Provider.
func (Provider) Describe() provider.Description {
	version, hosts := infrav1.GroupVersion, bmov1alpha1.GroupVersion
	return provider.Description{
		Name: "metal3", System: "the bare-metal operator", Namespace: "capm3-system", Certificate: "capm3-webhook-service-cert",
		Domains: rackNames(), BreakStops: true, ClusterKind: "Metal3Cluster",
		Kinds: map[schema.GroupVersionKind]string{
			version.WithKind("Metal3Cluster"):         clusterv1.ReadyCondition,
			version.WithKind("Metal3Machine"):         clusterv1.ReadyCondition,
			version.WithKind("Metal3MachineTemplate"): "",
			version.WithKind("Metal3DataTemplate"):    "",
			version.WithKind("Metal3DataClaim"):       "",
			version.WithKind("Metal3Data"):            clusterv1.ReadyCondition,
			hosts.WithKind("BareMetalHost"):           "",
			hosts.WithKind("HardwareData"):            "",
		},
		Shown: []string{"Metal3Cluster ", "FailureDomainsReady", "AssociateBareMetalHost"},
	}
}

// AddToScheme implements provider.Provider.
func (Provider) AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(simulator.AddToScheme(scheme), infrav1.AddToScheme(scheme))
}

// Objects returns the CRDs of the bare-metal operator and of the IP address manager.
func (Provider) Objects() ([]*unstructured.Unstructured, error) {
	crds, err := simulator.CRDs()
	if err != nil {
		return nil, err
	}
	return managementcluster.Untyped(crds)
}
