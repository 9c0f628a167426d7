//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

var _ = Describe("Workers", Label("worker-domains", "vsphere", onlyFast), func() {
	const spec = "worker-domains"

	It("go to the failure domain of their MachineDeployment, or wait while the zone is cordoned", func(ctx SpecContext) {
		c := newCluster(ctx, spec, 1, 1)
		zones := infra.Domains

		By("Adding a MachineDeployment for the third zone")
		c.addDeployment(ctx, zones[2], 1)
		available := config.GetIntervals(spec, "wait-worker-nodes")
		Eventually(func(g Gomega) { c.settled(ctx, g, 1) }, available...).Should(Succeed())
		Expect(c.workerZones(ctx)).To(HaveLen(3))
		c.landed(ctx)

		By("Cordoning the zone and scaling out")
		c.setDomainIntents(ctx, faultlinev1.FailureDomainIntent{Name: zones[2], State: faultlinev1.DomainCordoned})
		c.scale(ctx, 2)
		Eventually(func(g Gomega) { g.Expect(c.waiting(ctx, g, zones[2])).To(HaveLen(1)) }, "1m", "200ms").Should(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(c.waiting(ctx, g, zones[2])).To(HaveLen(1))
			g.Expect(c.places(ctx)).To(HaveLen(4), "no virtual machine is made for it, and none is taken away")
		}, "5s", "500ms").Should(Succeed())

		By("Making the zone active again")
		c.setDomainIntents(ctx)
		Eventually(func(g Gomega) { c.settled(ctx, g, 2) }, available...).Should(Succeed())
		c.landed(ctx)
	})
})

// addDeployment copies the first MachineDeployment for a zone, or without a failure domain. The spec uses the copy from then on.
func (c *cluster) addDeployment(ctx context.Context, zone string, replicas int32) {
	first := c.deployment(ctx, Default)
	next := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.name + "-md-" + cmp.Or(zone, "all")}}
	next.Spec.ClusterName, next.Spec.Replicas = first.Spec.ClusterName, ptr.To(replicas)
	next.Spec.Template.Spec = *first.Spec.Template.Spec.DeepCopy()
	next.Spec.Template.Spec.FailureDomain = zone
	Expect(management.GetClient().Create(ctx, next)).To(Succeed())
	c.MachineDeployments = append([]*clusterv1.MachineDeployment{next}, c.MachineDeployments...)
}

// setDomainIntents sets the intents of failure domains of the cluster; others are Active.
func (c *cluster) setDomainIntents(ctx context.Context, intents ...faultlinev1.FailureDomainIntent) {
	c.distribute(ctx, func(distribution *faultlinev1.Distribution) { distribution.FailureDomains = intents })
}

// workerZones returns the zone that each worker's Machine names.
func (c *cluster) workerZones(ctx context.Context) map[string]string {
	machines := &clusterv1.MachineList{}
	Expect(management.GetClient().List(ctx, machines, c.in(), client.HasLabels{clusterv1.MachineDeploymentNameLabel})).To(Succeed())
	zones := map[string]string{}
	for i := range machines.Items {
		zones[machines.Items[i].Name] = machines.Items[i].Spec.FailureDomain
	}
	return zones
}

// landed expects each worker to be in the zone of its Machine in vCenter.
func (c *cluster) landed(ctx context.Context) {
	places := c.places(ctx)
	for machine, zone := range c.workerZones(ctx) {
		Expect(places).To(HaveKeyWithValue(machine, zone))
	}
}

// waiting returns the machines that report waiting for the zone.
func (c *cluster) waiting(ctx context.Context, g Gomega, zone string) []string {
	machines := &infrav1.VSphereMachineList{}
	g.Expect(management.GetClient().List(ctx, machines, c.in())).To(Succeed())
	var names []string
	for i := range machines.Items {
		placed := conditions.Get(&machines.Items[i], infrav1.VSphereMachinePlacementReadyCondition)
		if placed != nil && placed.Status == metav1.ConditionFalse && placed.Reason == infrav1.VSphereMachineFailureDomainNotReadyReason {
			g.Expect(placed.Message).To(And(ContainSubstring(zone), ContainSubstring(string(faultlinev1.DomainCordoned))))
			names = append(names, machines.Items[i].Name)
		}
	}
	return names
}
