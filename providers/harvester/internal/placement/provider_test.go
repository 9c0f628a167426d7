// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
	shared "github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/status"
)

// unreachableConnections is an unreachable Harvester.
type unreachableConnections struct{}

func (unreachableConnections) Get(context.Context, harvester.Target, harvester.Requester) (*harvester.Connection, *harvester.Problem) {
	return nil, &harvester.Problem{Reason: infrav1.HarvesterConnectionFailedReason, Message: "no route to host"}
}

func TestUnreachableHarvesterHasUnknownDomains(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	unreachable := placement.Harvester{Connections: unreachableConnections{}}
	cluster := unreachable.NewCluster().(*infrav1.HarvesterCluster)
	g.Expect(unreachable.Domains(t.Context(), cluster)).To(BeEmpty(), "none is known yet")
	cluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "zone", ControlPlane: ptr.To(true)}}
	g.Expect(unreachable.Domains(t.Context(), cluster)).To(HaveExactElements(And(
		HaveField("Name", "zone"), HaveField("Health", distribution.Unknown), HaveField("Message", "no route to host"))))
	_, err := unreachable.Domains(t.Context(), &providertest.Cluster{})
	g.Expect(err).To(HaveOccurred())
}

func TestPlaceExists(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*infrav1.HarvesterMachine){
		"an address": func(m *infrav1.HarvesterMachine) { m.Status.AllocatedIPAddress = "10.0.0.1" },
		"a virtual machine": func(m *infrav1.HarvesterMachine) {
			status.True(m, infrav1.MachineCreatedCondition, infrav1.MachineCreatedReason)
		},
		"one taken over":      func(m *infrav1.HarvesterMachine) { m.Spec.ProviderID = "harvester://1" },
		"one that was placed": func(m *infrav1.HarvesterMachine) { m.Status.FailureDomain = "zone" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			machine := placement.Harvester{}.NewMachine().(*infrav1.HarvesterMachine)
			machine.Annotations = map[string]string{infrav1.MachineIDAnnotation: "written before anything"}
			status.False(machine, infrav1.MachineCreatedCondition, infrav1.FailureDomainNotAssignedReason, "")
			g.Expect(placement.Harvester{}.Location(machine)).To(BeZero())
			change(machine)
			g.Expect(placement.Harvester{}.Location(machine)).To(Equal(shared.Location{Domain: machine.Status.FailureDomain, Exists: true}))
		})
	}
}
