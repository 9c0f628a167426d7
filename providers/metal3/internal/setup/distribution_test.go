// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	seam "github.com/faultline-io/faultline/shared/provider"
)

func TestMisconfiguredFailureDomainsAreReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(3, 2))
	environment := integration.Environment{
		Client: f.client, Namespace: f.name, Provider: placement.Metal3{}, Domains: [3]string{"rack-1", "rack-2", "rack-3"},
		Group: infrav1.GroupVersion.Group, ClusterKind: "Metal3Cluster", MachineKind: "Metal3Machine",
		Cluster: func(cluster seam.Cluster) {
			metal3 := cluster.(*infrav1.Metal3Cluster)
			metal3.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443}
			for _, rack := range []string{"rack-1", "rack-2", "rack-3"} {
				metal3.Spec.FailureDomains = append(metal3.Spec.FailureDomains, clusterv1.FailureDomain{Name: rack, ControlPlane: ptr.To(true)})
			}
		},
		Machine: func(machine client.Object) {
			machine.(*infrav1.Metal3Machine).Spec.Image = infrav1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123"}
		},
		Exists: func(machine client.Object, domain string) {
			metal3 := machine.(*infrav1.Metal3Machine)
			metal3.Annotations[infrav1.HostAnnotation] = "elsewhere/" + metal3.Name
			metal3.Status.FailureDomain = domain
		},
	}
	environment.Run(t, integration.Rows())
}
