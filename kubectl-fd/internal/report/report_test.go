// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// observed is a cluster whose provider reports this status of its failure domains.
func observed(status map[string]any) report.Observed {
	infra := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	infra.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
	infra.SetKind("SomeCluster")
	infra.SetName("infra")
	return report.Observed{Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}, Infrastructure: infra}
}

func active(names ...any) map[string]any {
	var domains []any
	for _, name := range names {
		domains = append(domains, map[string]any{"name": name, "state": "Active"})
	}
	return map[string]any{"distribution": map[string]any{"failureDomains": domains}}
}

func machine(name string, change func(*clusterv1.Machine)) clusterv1.Machine {
	m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
	change(&m)
	return m
}

func TestMachineDomainPrecedence(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := observed(active("a", "b"))
	o.Assigned = map[string]string{"third": "a", "first": "b", "second": "b"}
	o.Machines = []clusterv1.Machine{
		machine("first", func(m *clusterv1.Machine) { m.Status.FailureDomain, m.Spec.FailureDomain = "a", "b" }),
		machine("second", func(m *clusterv1.Machine) { m.Spec.FailureDomain = "a" }),
		machine("third", func(*clusterv1.Machine) {}),
		machine("nowhere", func(*clusterv1.Machine) {}),
		machine("elsewhere", func(m *clusterv1.Machine) { m.Status.FailureDomain = "old" }),
	}
	c := report.Of(o)
	g.Expect(c.Problem).To(BeEmpty())
	g.Expect(c.DomainNames()).To(Equal([]string{"a", "b"}))
	places := map[string][]string{}
	for _, domain := range c.Domains {
		for _, m := range domain.Machines {
			places[domain.Name] = append(places[domain.Name], m.Name)
		}
	}
	g.Expect(places).To(Equal(map[string][]string{"a": {"first", "second", "third"}, "": {"nowhere"}, "old": {"elsewhere"}}))
	g.Expect(c.Domains[2].Listed || c.Domains[3].Listed).To(BeFalse(), "those that the cluster does not list are last")
}

func TestMachineState(t *testing.T) {
	t.Parallel()
	joined := func(m *clusterv1.Machine) {
		provisioned := true
		m.Status.Initialization.InfrastructureProvisioned, m.Status.NodeRef.Name = &provisioned, "node"
	}
	condition := func(conditionType string, status metav1.ConditionStatus) func(*clusterv1.Machine) {
		return func(m *clusterv1.Machine) {
			joined(m)
			m.Status.Conditions = []metav1.Condition{{Type: conditionType, Status: status, Reason: "Why", Message: "because"}}
		}
	}
	for name, test := range map[string]struct {
		change func(*clusterv1.Machine)
		want   report.MachineState
	}{
		"nothing is there yet":            {func(*clusterv1.Machine) {}, report.Waiting},
		"it runs, and has no Node":        {func(m *clusterv1.Machine) { joined(m); m.Status.NodeRef.Name = "" }, report.Joining},
		"no conditions":                   {joined, report.Running},
		"its Node is healthy":             {condition(clusterv1.MachineNodeHealthyCondition, metav1.ConditionTrue), report.Running},
		"its Node is not":                 {condition(clusterv1.MachineNodeHealthyCondition, metav1.ConditionFalse), report.Unhealthy},
		"Node health unknown":             {condition(clusterv1.MachineNodeHealthyCondition, metav1.ConditionUnknown), report.Unhealthy},
		"a health check fails":            {condition(clusterv1.MachineHealthCheckSucceededCondition, metav1.ConditionFalse), report.Unhealthy},
		"it is deleted, and never joined": {func(m *clusterv1.Machine) { now := metav1.Now(); m.DeletionTimestamp = &now }, "Deleting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			o := observed(active("a"))
			o.Machines = []clusterv1.Machine{machine("m", test.change)}
			got := report.Of(o).Domains[1].Machines[0]
			g.Expect(got.State).To(Equal(test.want))
			g.Expect(got.Works()).To(Equal(test.want == report.Running))
			if test.want == report.Unhealthy {
				g.Expect(got.Reason + got.Message).To(Equal("Whybecause"))
			}
		})
	}
}

func TestClusterOfAnotherProvider(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := observed(map[string]any{"failureDomains": map[string]any{"az1": map[string]any{"controlPlane": true}}})
	yes := true
	o.Cluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "az1", ControlPlane: &yes}}
	c := report.Of(o)
	g.Expect(c.DomainNames()).To(Equal([]string{"az1"}))
	g.Expect(c.Domains[0].State).To(BeEmpty())
	g.Expect(c.Problem).To(Equal("SomeCluster infra does not report the state of its failure domains: status.distribution is written by Faultline's providers"))
}

func TestPlannerUsesRequestedStates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := observed(map[string]any{"distribution": map[string]any{"failureDomains": []any{
		map[string]any{"name": "a", "state": "Active"}, map[string]any{"name": "b", "state": "Cordoned"}, map[string]any{"name": "c", "state": "Active"},
	}}})
	o.Infrastructure.Object["spec"] = map[string]any{"distribution": map[string]any{"failureDomains": []any{
		map[string]any{"name": "a", "state": "Cordoned"}, map[string]any{"name": "b", "state": "Evicting"},
	}}}
	c := report.Of(o)
	states := map[string]string{}
	for _, domain := range c.Planner(false) {
		states[domain.Name] = string(domain.State)
	}
	g.Expect(states).To(Equal(map[string]string{"a": "Cordoned", "b": "Evicting", "c": "Active"}))
	g.Expect(c.Domain("a").Wanted).To(Equal(faultlinev1.DomainCordoned))
}
