// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/e2e/provider"
)

func example() Snapshot {
	return Snapshot{
		Domains: []Domain{
			{Name: "zone-a", State: "Active", ControlPlane: true},
			{Name: "zone-b", State: "Cordoned", Reason: "DatastoreNotFound"},
			{Name: "zone-c"},
		},
		Machines: []Machine{
			{Name: "demo-1", Role: RoleControlPlane, Phase: "Running", Ready: true, Asked: "zone-a", Domain: "zone-a", Host: "host-1"},
			{Name: "demo-2", Role: RoleControlPlane, Phase: "Provisioning", Asked: "zone-c"},
			{Name: "stranger", Domain: "zone-b", Host: "host-3"},
		},
	}
}

func TestMerge(t *testing.T) {
	g := NewWithT(t)
	machine := func(name string, labels map[string]string) clusterv1.Machine {
		return clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec: clusterv1.MachineSpec{
				ClusterName: "demo", FailureDomain: "zone-a",
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{Name: name + "-vm"},
			},
			Status: clusterv1.MachineStatus{Phase: "Running", FailureDomain: "zone-b"},
		}
	}
	got := merge([]clusterv1.Machine{
		machine("worker", map[string]string{clusterv1.MachineDeploymentNameLabel: "demo-md-a"}),
		machine("control", map[string]string{clusterv1.MachineControlPlaneLabel: ""}),
	}, []provider.Placement{{Name: "left-over", Domain: "zone-c"}, {Name: "control-vm", Domain: "zone-b", Host: "host-1"}})
	g.Expect(got).To(Equal([]Machine{
		{Name: "control", Role: RoleControlPlane, Phase: "Running", Asked: "zone-a", Reported: "zone-b", Domain: "zone-b", Host: "host-1"},
		{Name: "worker", Role: "md-a", Phase: "Running", Asked: "zone-a", Reported: "zone-b"},
		{Name: "left-over", Domain: "zone-c"},
	}))
}

func TestDomains(t *testing.T) {
	g := NewWithT(t)
	got := domains([]string{"a", "b"}, []clusterv1.FailureDomain{
		{Name: "b", ControlPlane: new(true), Attributes: map[string]string{"state": "Active"}},
		{Name: "other", ControlPlane: new(true)},
	})
	g.Expect(got).To(Equal([]Domain{{Name: "a"}, {Name: "b", State: "Active", ControlPlane: true}}))
}

func TestChanges(t *testing.T) {
	g := NewWithT(t)
	before, now := example(), example()
	g.Expect(Changes(before, now)).To(BeEmpty())
	now.Domains[0].ControlPlane, now.Domains[0].State = false, "Cordoned"
	now.Machines[1].Domain = "zone-c"
	now.Machines = now.Machines[:2]
	g.Expect(Changes(before, now)).To(Equal([]string{
		"failure domain zone-a: Cordoned, no control plane",
		"machine demo-2: control plane, Provisioning, in zone-c",
		"machine stranger: deleted",
	}))
	g.Expect(Changes(Snapshot{}, before)).To(ContainElement("machine stranger: not known to Cluster API, in zone-b"))
}

func TestPlacementTable(t *testing.T) {
	g := NewWithT(t)
	table := PlacementTable(example())
	g.Expect(table).To(HaveLen(4))
	g.Expect(strings.Fields(table[0])).To(Equal([]string{"zone-a", "zone-b", "zone-c"}))
	g.Expect(strings.Fields(table[1])).To(Equal([]string{"demo-1", "control", "plane", "host-1", ".", "."}))
	g.Expect(strings.Fields(table[3])).To(Equal([]string{"stranger", ".", "host-3", "."}))
}
