// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Machine is an infrastructure machine that reports its failure domain.
type Machine interface {
	client.Object
	conditions.Getter
}

// IsIn waits until a machine reports that it is in the domain, and copies that to its Machine of the same name, as Cluster API
// does.
func IsIn[T Machine](u User, machine T, says func(T) string, domain string) {
	u.T.Helper()
	u.G.Eventually(func(g gomega.Gomega) {
		g.Expect(u.Client.Get(u.T.Context(), client.ObjectKeyFromObject(machine), machine)).To(gomega.Succeed())
		g.Expect(says(machine)).To(gomega.Equal(domain), "%s", Describe(machine))
	}).Should(gomega.Succeed())
	owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: machine.GetNamespace(), Name: machine.GetName()}}
	Update(u, owner, Status, func(owner *clusterv1.Machine) {
		owner.Status.NodeRef, owner.Status.FailureDomain = clusterv1.MachineNodeReference{Name: machine.GetName()}, domain
	})
}

// Elsewhere waits until the condition, the metric and an event of an infrastructure cluster report one machine in another failure
// domain than requested.
func (u User) Elsewhere(metrics prometheus.Gatherer, cluster Conditioned, machine string) {
	u.T.Helper()
	named := gomega.ContainSubstring("Machine " + machine + " is in failure domain")
	u.G.Expect(u.Condition(cluster, faultlinev1.MachinesInPlaceCondition, faultlinev1.ReasonMachinesElsewhere)).To(named)
	u.G.Eventually(func(g gomega.Gomega) {
		g.Expect(Gauge(g, metrics, "faultline_failure_domain_misplaced_machines")).To(gomega.Equal(1.0))
		list := &eventsv1.EventList{}
		g.Expect(u.Client.List(u.T.Context(), list, client.InNamespace(cluster.GetNamespace()))).To(gomega.Succeed())
		g.Expect(list.Items).To(gomega.ContainElement(gomega.And(gomega.HaveField("Reason", faultlinev1.ReasonMachinesElsewhere),
			gomega.HaveField("Regarding.Name", cluster.GetName()), gomega.HaveField("Note", named))))
	}).Should(gomega.Succeed())
}

// InPlace waits until condition and metric report no such machine.
func (u User) InPlace(metrics prometheus.Gatherer, cluster Conditioned) {
	u.T.Helper()
	u.Condition(cluster, faultlinev1.MachinesInPlaceCondition, faultlinev1.ReasonMachinesInPlace)
	u.G.Eventually(func(g gomega.Gomega) {
		g.Expect(Gauge(g, metrics, "faultline_failure_domain_misplaced_machines")).To(gomega.BeZero())
	}).Should(gomega.Succeed())
}

// Gauge returns the sum of a gauge's values.
func Gauge(g gomega.Gomega, metrics prometheus.Gatherer, name string) (sum float64) {
	families, err := metrics.Gather()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for _, family := range families {
		if family.GetName() == name {
			for _, metric := range family.GetMetric() {
				sum += metric.GetGauge().GetValue()
			}
		}
	}
	return sum
}
