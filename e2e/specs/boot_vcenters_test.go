//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Not in parallel with specs whose machines are on the vCenter that is lost.
var _ = Describe("A cluster over three vCenters", Serial, Label("vcenter-lost", "vsphere", onlyBoot, long), func() {
	It("loses no write when one of them is lost with all machines that it runs, and takes them back", func(ctx SpecContext) {
		const spec, region = "boot", "three-vcenters"
		zones := []string{"vcenter-a", "vcenter-b", "vcenter-c"}
		var c *cluster
		vcenters := makeVCenterZones(ctx, region, zones)
		DeferCleanup(func(ctx SpecContext) {
			for zone, variables := range vcenters {
				if !*keep && c != nil {
					Expect(connectTo(ctx, variables).machines(ctx, c.name)).To(BeEmpty(), "machines in the vCenter of %s", zone)
				}
			}
		})
		c = newClusterOf(ctx, spec, template{infra.Several, map[string]string{
			"VSPHERE_REGION": region, "VSPHERE_ZONE_A": zones[0], "VSPHERE_ZONE_B": zones[1], "VSPHERE_ZONE_C": zones[2],
		}}, 3, 1)
		c.shortenGrace(ctx)
		w := c.guest(ctx)
		nodes := config.GetIntervals(spec, "wait-nodes-ready")
		Eventually(func(g Gomega) int { return w.ready(ctx, g) }, nodes...).Should(Equal(5))
		domains := c.controlPlaneDomains(ctx, Default)
		Expect(slices.Sorted(maps.Values(domains))).To(Equal(zones))
		for machine, zone := range domains {
			Expect(connectTo(ctx, vcenters[zone]).machines(ctx, machine)).To(HaveLen(1), "%s in the vCenter of %s", machine, zone)
		}

		By("Choosing the vCenter with the control plane's virtual IP address, which costs clients most")
		lost := domains[w.leader(ctx)]
		Expect(lost).To(BeElementOf(zones))
		maps.Copy(domains, c.workerZones(ctx))
		maps.DeleteFunc(domains, func(_, zone string) bool { return zone != lost })
		machines := slices.Sorted(maps.Keys(domains))
		writer := startWriter(w.config)

		By(fmt.Sprintf("Losing the vCenter of %s with %s", lost, machines))
		takeBack := infra.fault(ctx, fmt.Sprintf("down?vcenter=%d", slices.Index(zones, lost)+1))
		Expect(cutPower(ctx, environment, machines...)).To(Succeed())
		within := config.GetIntervals(spec, "wait-failure-domain")
		left := slices.DeleteFunc(slices.Clone(zones), func(zone string) bool { return zone == lost })
		Eventually(func(g Gomega) []string { return c.published(ctx, g) }, within...).Should(ConsistOf(left))
		Expect(zoneReady(ctx, Default, lost)).To(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring(vcenters[lost]["VSPHERE_SERVER"])),
		))
		Eventually(func(g Gomega) int { return w.ready(ctx, g) }, nodes...).Should(Equal(5 - len(machines)))
		writer.awaitWrites(25)
		for _, zone := range left {
			Expect(zoneReady(ctx, Default, zone)).To(HaveField("Status", metav1.ConditionTrue))
		}

		By("Taking the vCenter of " + lost + " back")
		takeBack()
		// The manager connects again at growing intervals.
		Eventually(func(g Gomega) []string { return c.published(ctx, g) }, nodes...).Should(ConsistOf(zones))
		Eventually(func(g Gomega) {
			g.Expect(slices.Sorted(maps.Values(c.whole(ctx, g)))).To(Equal(zones))
			g.Expect(w.ready(ctx, g)).To(Equal(5), "the machines are powered on again")
		}, nodes...).Should(Succeed())
		writer.expectNoLostWrites(ctx)
	})
})

// makeVCenterZones creates a zone on each of the simulated vCenters, until the end of the spec, and returns the variables of its vCenter.
// Zones of other specs have another region.
func makeVCenterZones(ctx context.Context, region string, zones []string) map[string]map[string]string {
	vcenters := map[string]map[string]string{}
	identity := makeIdentity(ctx, region)
	for i, zone := range zones {
		variables := maps.Clone(environment.Variables())
		if i > 0 {
			number := fmt.Sprintf("_%d", i+1)
			variables["VSPHERE_SERVER"], variables["VSPHERE_TLS_THUMBPRINT"] = variables["VSPHERE_SERVER"+number], variables["VSPHERE_TLS_THUMBPRINT"+number]
		}
		vcenters[zone] = variables
		makeZone(ctx, variables, identity, zone, infrav1.VSphereFailureDomainSpec{
			Region: infrav1.FailureDomain{Name: region, Type: infrav1.DatacenterFailureDomain, TagCategory: region + "-region", AutoConfigure: ptr.To(true)},
			Zone:   infrav1.FailureDomain{Name: zone, Type: infrav1.ComputeClusterFailureDomain, TagCategory: region + "-zone", AutoConfigure: ptr.To(true)},
			Topology: infrav1.Topology{
				Datacenter: variables["VSPHERE_DATACENTER"], ComputeCluster: infra.Domains[i], Datastore: strings.Replace(infra.Domains[i], "zone", "datastore", 1),
				Networks: []string{variables["VSPHERE_NETWORK"]},
			},
		})
	}
	return vcenters
}

// makeIdentity creates a VSphereClusterIdentity with the account of all simulated vCenters, until the end of the spec. With it, the manager
// removes the tags that it created for a zone after the clusters, whose accounts it otherwise uses, are deleted.
func makeIdentity(ctx context.Context, name string) *infrav1.VSphereIdentityReference {
	variables := environment.Variables()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: infra.Namespace, Name: name},
		StringData: map[string]string{"username": variables["VSPHERE_USERNAME"], "password": variables["VSPHERE_PASSWORD"]},
	}
	identity := &infrav1.VSphereClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: infrav1.VSphereClusterIdentitySpec{SecretName: name}}
	for _, object := range []client.Object{secret, identity} {
		Expect(management.GetClient().Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			if !*keep {
				Expect(client.IgnoreNotFound(management.GetClient().Delete(ctx, object))).To(Succeed())
			}
		})
	}
	return &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: name}
}

// zoneReady returns the Ready condition of a zone.
func zoneReady(ctx context.Context, g Gomega, name string) *metav1.Condition {
	zone := &infrav1.VSphereDeploymentZone{}
	g.Expect(management.GetClient().Get(ctx, client.ObjectKey{Name: name}, zone)).To(Succeed())
	return conditions.Get(zone, clusterv1.ReadyCondition)
}
