// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/shared/integration"
	seam "github.com/faultline-io/faultline/shared/provider"
)

func TestInvalidFailureDomainsAreReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, 2)
	environment := integration.Environment{
		Client: w.client, Namespace: w.name, Provider: placement.Harvester{}, Domains: [3]string{zoneName(1), zoneName(2), zoneName(3)},
		Group: infrav1.GroupVersion.Group, ClusterKind: "HarvesterCluster", MachineKind: "HarvesterMachine",
		Cluster: func(cluster seam.Cluster) {
			harvester := cluster.(*infrav1.HarvesterCluster)
			harvester.Spec.IdentitySecret = infrav1.SecretKey{Namespace: w.name, Name: "identity"}
			harvester.Spec.TargetNamespace, harvester.Spec.FailureDomainTopologyKey = w.name, w.topologyKey()
			harvester.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443}
		},
		Machine: func(machine client.Object) { machine.(*infrav1.HarvesterMachine).Spec = machineSpec() },
		Exists: func(machine client.Object, domain string) {
			harvester := machine.(*infrav1.HarvesterMachine)
			harvester.Status.FailureDomain = domain
			conditions.Set(harvester, metav1.Condition{
				Type: infrav1.MachineCreatedCondition, Status: metav1.ConditionTrue, Reason: infrav1.MachineCreatedReason,
			})
		},
	}
	environment.Run(t, integration.Rows())
}
