// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// uneven has two control-plane machines and two workers of md in domain a, and none in b.
func uneven() report.Cluster {
	two, yes := int32(2), true
	running := func(name string, controlPlane bool) report.Machine {
		m := report.Machine{Name: name, ControlPlane: controlPlane, State: report.Running, Joined: true, Healthy: true}
		if !controlPlane {
			m.Deployment = "md"
		}
		return m
	}
	c := report.Cluster{Replicas: &two, Domains: []report.Domain{
		{Name: "a", Listed: true, State: faultlinev1.DomainActive, ControlPlane: true, Machines: []report.Machine{
			running("cp-1", true), running("cp-2", true), running("w-1", false), running("w-2", false),
		}},
		{Name: "b", Listed: true, State: faultlinev1.DomainActive, ControlPlane: true},
	}}
	c.Wanted.Workers.Enabled = &yes
	return c
}

var md = []report.Deployment{{Name: "md", Replicas: 2}}

func TestPlanSource(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := uneven()
	plans := report.Plans(c, md)
	g.Expect(plans[0].Source).To(Equal(report.Calculated))
	g.Expect(plans[0].Moves).To(Equal([]faultlinev1.PlannedMove{{Machine: "cp-1", From: "a", To: "b"}}))
	g.Expect(plans[1].Source).To(Equal(report.Calculated))
	g.Expect(plans[1].Moves).To(Equal([]faultlinev1.PlannedMove{{Machine: "w-1", From: "a", To: "b"}}))

	c.Conditions = []metav1.Condition{{Type: faultlinev1.ControlPlaneBalancedCondition, Status: metav1.ConditionFalse}}
	c.ControlPlane.Plan = []faultlinev1.PlannedMove{{Machine: "cp-2", From: "a", To: "b"}}
	c.Workers = []faultlinev1.WorkersDistributionStatus{{Name: "md"}}
	plans = report.Plans(c, md)
	g.Expect(plans[0].Source).To(Equal(report.Status))
	g.Expect(plans[0].Moves).To(Equal(c.ControlPlane.Plan))
	g.Expect(plans[1].Source).To(Equal(report.Status))
	g.Expect(plans[1].Moves).To(BeEmpty())
}

func TestPlanExplainsMissingMoves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := uneven()
	g.Expect(report.Plans(c, nil)[0].Why).To(ConsistOf(ContainSubstring("rebalance is Advise")))
	c.Wanted.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceOff
	g.Expect(report.Plans(c, nil)[0].Why).To(ConsistOf(ContainSubstring("rebalance is Off")))
	c.Wanted.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceSurgeOne
	g.Expect(report.Plans(c, nil)[0].Why).To(BeEmpty())
	three := int32(3)
	c.Replicas = &three
	g.Expect(report.Plans(c, nil)[0].Why).To(ConsistOf(HavePrefix("Scaling: ")))
	g.Expect(report.Plans(c, nil)[0].Moves).To(BeEmpty())

	g.Expect(report.Plans(c, md)[1].Why).To(ConsistOf(ContainSubstring("spec.distribution.workers.rebalance to DeleteOne")))
	logical := int32(2)
	c.Wanted.Workers.DesiredFailureDomains = &logical
	g.Expect(report.Plans(c, md)[1].Why).To(ConsistOf(ContainSubstring("logical failure domains")))
	g.Expect(report.Plans(c, md)[1].Source).To(BeEmpty(), "nothing is calculated for logical domains")
	c.Wanted.Workers = faultlinev1.WorkersDistribution{}
	g.Expect(report.Plans(c, md)[1].Why).To(ConsistOf(ContainSubstring("workers.enabled")))
	named := []report.Deployment{{Name: "md", Named: "a"}}
	g.Expect(report.Plans(c, named)[1].Why).To(ConsistOf(ContainSubstring("names failure domain a")))
	c.Wanted.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: "a", State: faultlinev1.DomainEvicting}}
	g.Expect(report.Plans(c, named)[1].Why).To(ConsistOf(ContainSubstring("names failure domain a, which is Evicting: its machines stay there until")))
	named[0].Named = "gone"
	g.Expect(report.Plans(c, named)[1].Why).To(ConsistOf(ContainSubstring("names failure domain gone, which the cluster does not list")))
}
