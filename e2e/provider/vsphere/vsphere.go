// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vsphere implements the provider for vSphere with a simulated vCenter.
package vsphere

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Provider is the provider for vSphere.
type Provider struct{}

// Describe implements provider.Provider.
func (Provider) Describe() provider.Description {
	version := infrav1.GroupVersion
	zone := version.WithKind("VSphereDeploymentZone")
	return provider.Description{
		Name: "vsphere", System: "vCenter", Namespace: "capv-system", Certificate: "capv-webhook-service-cert",
		// The account for clusters that name no identity.
		Unset:   map[string]string{"VSPHERE_USERNAME": "none", "VSPHERE_PASSWORD": "none"},
		Domains: []string{"zone-a", "zone-b", "zone-c"}, Flavor: "zones", Several: "multi-vcenter", DomainKind: &zone, ClusterKind: "VSphereCluster",
		Upstream: binaries.UpstreamVSphere,
		Kinds: map[schema.GroupVersionKind]string{
			version.WithKind("VSphereCluster"):         clusterv1.ReadyCondition,
			version.WithKind("VSphereMachine"):         clusterv1.ReadyCondition,
			version.WithKind("VSphereMachineTemplate"): "",
			version.WithKind("VSphereVM"):              clusterv1.ReadyCondition,
			version.WithKind("VSphereDeploymentZone"):  clusterv1.ReadyCondition,
			version.WithKind("VSphereFailureDomain"):   "",
		},
		Shared: []string{"VSphereFailureDomain", "VSphereDeploymentZone"},
		Shown:  []string{"VSphereCluster ", "FailureDomainsReady", "VirtualMachineProvisioned"},
	}
}

// AddToScheme implements provider.Provider.
func (Provider) AddToScheme(scheme *runtime.Scheme) error { return infrav1.AddToScheme(scheme) }

// Objects returns none: a vCenter is outside the management cluster.
func (Provider) Objects() ([]*unstructured.Unstructured, error) { return nil, nil }
