// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	seam "github.com/faultline-io/faultline/shared/provider"
)

func TestInvalidDistributionIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	zones := w.threeZones()
	environment := integration.Environment{
		Client: w.client, Namespace: w.name, Labels: map[string]string{clusterv1.WatchLabel: w.name}, Provider: placement.VSphere{},
		Domains: [3]string{zones[0].Name, zones[1].Name, zones[2].Name},
		Group:   infrav1.GroupVersion.Group, ClusterKind: "VSphereCluster", MachineKind: "VSphereMachine",
		Cluster: func(cluster seam.Cluster) { cluster.(*infrav1.VSphereCluster).Spec = w.clusterSpec() },
		Machine: func(machine client.Object) { machine.(*infrav1.VSphereMachine).Spec = machineSpec() },
		Exists: func(machine client.Object, domain string) {
			vsphere := machine.(*infrav1.VSphereMachine)
			vsphere.Status.FailureDomain = ptr.To(domain)
			conditions.Set(vsphere, metav1.Condition{
				Type: infrav1.VSphereMachinePlacementReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.VSphereMachinePlacedReason,
			})
		},
	}
	environment.Run(t, integration.Rows())
}
