// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/status"
)

// Ready summarizes the conditions of an infrastructure cluster.
func ExampleSummarize() {
	infraCluster := &providertest.Cluster{}
	status.True(infraCluster, "CredentialsAvailable", "Available")
	status.False(infraCluster, "EndpointSet", "EndpointMissing", "spec.controlPlaneEndpoint has no host: set it")
	if err := status.Summarize(infraCluster, "CredentialsAvailable", "EndpointSet"); err != nil {
		fmt.Println(err)
		return
	}
	ready := conditions.Get(infraCluster, clusterv1.ReadyCondition)
	fmt.Println(ready.Status, ready.Reason, ready.Message)
	// Output:
	// False NotReady * EndpointSet: spec.controlPlaneEndpoint has no host: set it
}

// infraMachine is an infrastructure machine, with the conditions of the embedded kind. Provisioned is
// status.initialization.provisioned.
type infraMachine struct {
	providertest.Cluster
	Provisioned bool
}

func (m *infraMachine) InService() bool { return m.Provisioned && m.DeletionTimestamp.IsZero() }

// The API of the infrastructure cannot be reached. A machine in service keeps its last observed state.
func ExampleMarkUnknown() {
	for _, provisioned := range []bool{false, true} {
		machine := &infraMachine{Provisioned: provisioned}
		status.True(machine, "VMProvisioned", "Provisioned")
		status.MarkUnknown(machine, metav1.Condition{
			Type: "VMProvisioned", Status: metav1.ConditionUnknown, Reason: "ServerUnreachable", Message: "connection refused",
		})
		fmt.Println(provisioned, conditions.Get(machine, "VMProvisioned").Status)
	}
	// Output:
	// false Unknown
	// true True
}
