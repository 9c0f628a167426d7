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

const (
	advise = "rebalance is Advise, so no machine is moved: set spec.distribution.controlPlane.rebalance to SurgeOne to move them"
	none   = "every failure domain of the cluster is set to Cordoned or Evicting, so none can take them: activate one"
	off    = "rebalance is Off, so no machine is moved: set spec.distribution.workers.rebalance to DeleteOne to move them"
)

// With the cluster's defaults, these machines stay in a domain that is being emptied.
func TestStayingMachines(t *testing.T) {
	t.Parallel()
	no := false
	surge, delete := faultlinev1.ControlPlaneRebalanceSurgeOne, faultlinev1.WorkersRebalanceDeleteOne
	controlPlane := func(why string) report.Staying {
		return report.Staying{Of: "the control plane", Machines: []string{"cp-1", "cp-2"}, Why: why}
	}
	workers := func(why string) report.Staying {
		return report.Staying{Of: "MachineDeployment md", Machines: []string{"w-1", "w-2"}, Why: why}
	}
	name := func(c *report.Cluster, domain string) {
		for i := range c.Domains[0].Machines {
			c.Domains[0].Machines[i].Named = domain
		}
	}
	for scenario, test := range map[string]struct {
		template string
		change   func(*report.Cluster)
		want     []report.Staying
	}{
		"by default":                           {"", func(*report.Cluster) {}, []report.Staying{controlPlane(advise), workers(off)}},
		"the control plane is moved":           {"", func(c *report.Cluster) { c.Wanted.ControlPlane.Rebalance = surge }, []report.Staying{workers(off)}},
		"workers are moved":                    {"", func(c *report.Cluster) { c.Wanted.Workers.Rebalance = delete }, []report.Staying{controlPlane(advise)}},
		"the machines are being deleted":       {"", func(c *report.Cluster) { deleting(c) }, nil},
		"they are in another domain":           {"", func(c *report.Cluster) { c.Domains[0].Name = "other" }, nil},
		"the cluster does not list the domain": {"", func(c *report.Cluster) { c.Domains[0].Listed = false }, []report.Staying{controlPlane(advise), workers(off)}},
		"workers are not spread":               {"", func(c *report.Cluster) { c.Wanted.Workers.Enabled = &no }, []report.Staying{controlPlane(advise), workers("its template names no failure domain, and workers are not spread: set spec.distribution.workers.enabled to spread its machines")}},
		"the template names the domain": {"a", func(c *report.Cluster) { name(c, "a") }, []report.Staying{controlPlane(advise),
			workers("its template names failure domain a, so they stay until its spec.template.spec.failureDomain names another one")}},
		"the template of a topology names it": {"a", func(c *report.Cluster) { name(c, "a"); c.Topology = true }, []report.Staying{controlPlane(advise),
			workers("its template names failure domain a, so they stay until failureDomain of its entry in spec.topology.workers.machineDeployments of the Cluster names another one")}},
		"the template names another one by now": {"b", func(c *report.Cluster) { name(c, "a") }, []report.Staying{controlPlane(advise)}},
		"the template names none any more":      {"", func(c *report.Cluster) { name(c, "a") }, []report.Staying{controlPlane(advise)}},
		"they are not where they were asked to be": {"b", func(c *report.Cluster) { name(c, "b") }, []report.Staying{controlPlane(advise),
			workers("its template names another failure domain, b: delete these Machines one after the other")}},
		"the control plane is of another kind": {"", func(c *report.Cluster) {
			c.Wanted.ControlPlane.Rebalance, c.Wanted.Workers.Rebalance = surge, delete
			c.Conditions = []metav1.Condition{{Type: faultlinev1.ControlPlaneBalancedCondition, Reason: faultlinev1.ReasonControlPlaneNotSupported, Message: "To be moved: x\nit is a K3sControlPlane"}}
		}, []report.Staying{controlPlane("ControlPlaneBalanced is False, To be moved: x it is a K3sControlPlane")}},
		"the control plane waits for something that ends": {"", func(c *report.Cluster) {
			c.Wanted.ControlPlane.Rebalance, c.Wanted.Workers.Rebalance = surge, delete
			c.Conditions = []metav1.Condition{{Type: faultlinev1.ControlPlaneBalancedCondition, Reason: faultlinev1.ReasonStabilizing, Message: "wait"}}
		}, nil},
		"every other domain is cordoned or evicted by users": {"", func(c *report.Cluster) {
			c.Wanted.ControlPlane.Rebalance, c.Wanted.Workers.Rebalance = surge, delete
			for i := range c.Domains[1:] {
				c.Domains[1+i].Wanted = faultlinev1.DomainCordoned
			}
		}, []report.Staying{controlPlane(none), workers(none)}},
		"nothing is known to own the workers": {"", func(c *report.Cluster) {
			c.Domains[0].Machines[2].Deployment, c.Domains[0].Machines[3].Deployment = "", ""
		}, []report.Staying{controlPlane(advise), {Of: "no MachineDeployment", Machines: []string{"w-1", "w-2"}, Why: "no controller replaces them in another domain: delete them, or let their owner delete them"}}},
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			c := uneven()
			test.change(&c)
			NewWithT(t).Expect(report.StayingMachines(c, []report.Deployment{{Name: "md", Named: test.template}}, []string{"a"})).To(Equal(test.want))
		})
	}
}

func deleting(c *report.Cluster) {
	for i := range c.Domains[0].Machines {
		c.Domains[0].Machines[i].Deleting = true
	}
}
