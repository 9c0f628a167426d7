// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func names(cluster *infrav1.HarvesterCluster) []string {
	var all []string
	for _, domain := range cluster.Status.FailureDomains {
		all = append(all, domain.Name)
	}
	return all
}

// givenEndpoint configures a cluster without a load balancer.
func givenEndpoint(cluster *infrav1.HarvesterCluster) {
	cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{}
	cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443}
}

func TestFailureDomainsFollowHostLabels(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a", "b")
	cluster := w.cluster("c", givenEndpoint)
	w.waitForProvisioned(cluster)
	w.Expect(names(cluster)).To(Equal([]string{"a", "b"}))
	w.Expect(cluster.Status.FailureDomains[0].ControlPlane).To(HaveValue(BeTrue()))
	w.Expect(cluster.Status.FailureDomains[0].Attributes).To(And(
		HaveKeyWithValue("topologyKey", w.zoneKey()), HaveKeyWithValue("topologyValue", "a"), HaveKeyWithValue("hosts", "1")))
	message := conditions.GetMessage(cluster, infrav1.FailureDomainsReadyCondition)
	w.Expect(message).To(And(ContainSubstring("single host: a ("+w.name+"-host-a), b ("), ContainSubstring("hosts outside all failure domains")))

	w.host("new", "c")
	w.eventually(cluster, func(g Gomega) { g.Expect(names(cluster)).To(Equal([]string{"a", "b", "c"})) })
}

func TestNewHostWithoutLabelChangesNoFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a", "b")
	cluster := w.cluster("c", givenEndpoint)
	w.waitForProvisioned(cluster)
	since := cluster.Status.Distribution.FailureDomainsSince
	node := simulator.Host{Name: "0-bare-" + w.name} // sorts first in the message
	w.Expect(sim.AddHost(t.Context(), node)).To(Succeed())
	w.eventually(cluster, func(g Gomega) {
		g.Expect(conditions.GetMessage(cluster, infrav1.FailureDomainsReadyCondition)).To(ContainSubstring(node.Name))
		g.Expect(names(cluster)).To(Equal([]string{"a", "b"}))
		g.Expect(cluster.Status.Distribution.FailureDomainsSince).To(Equal(since))
	})
}

func TestFailureDomainWithCordonedHostsIsCordonedAfterGracePeriod(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a", "b", "c")
	cluster := w.cluster("c", givenEndpoint, func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.Distribution.GracePeriodSeconds, cluster.Spec.Distribution.HoldPeriodSeconds = ptr.To(int32(0)), ptr.To(int32(0))
	})
	w.waitForProvisioned(cluster)
	node := &corev1.Node{}
	node.Name = w.name + "-host-b"
	change(w, w.harvester, node, func(node *corev1.Node) { node.Spec.Unschedulable = true })
	w.eventually(cluster, func(g Gomega) {
		g.Expect(names(cluster)).To(Equal([]string{"a", "b", "c"}))
		g.Expect(cluster.Status.Distribution.FailureDomains[1].State).To(Equal(faultlinev1.DomainCordoned))
		g.Expect(cluster.Status.Distribution.FailureDomains[1].Reason).To(Equal(infrav1.FailureDomainHostsCordonedReason))
		g.Expect(cluster.Status.FailureDomains[1].ControlPlane).To(HaveValue(BeFalse()))
	})
	change(w, w.harvester, node, func(node *corev1.Node) { node.Spec.Unschedulable = false })
	w.eventually(cluster, func(g Gomega) {
		g.Expect(cluster.Status.Distribution.FailureDomains[1].State).To(Equal(faultlinev1.DomainActive))
	})
	change(w, w.harvester, node, func(node *corev1.Node) { // like Harvester's maintenance mode, whose only trace in the Node is this taint
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "kubevirt.io/drain", Effect: corev1.TaintEffectNoSchedule})
	})
	w.eventually(cluster, func(g Gomega) {
		g.Expect(cluster.Status.Distribution.FailureDomains[1].State).To(Equal(faultlinev1.DomainCordoned))
	})
}

func TestNoFailureDomainsWithoutLabels(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cluster := w.cluster("c", givenEndpoint)
	w.waitForProvisioned(cluster)
	w.Expect(names(cluster)).To(BeEmpty())
	w.Expect(w.waitForReason(cluster, infrav1.FailureDomainsReadyCondition, faultlinev1.ReasonNoFailureDomains)).To(ContainSubstring(w.zoneKey()))
}

func TestSingleHostFailureDomainsRemainUntilHostsAreLabelled(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	host := w.host("h", "")
	cluster := w.cluster("c", givenEndpoint, func(cluster *infrav1.HarvesterCluster) { cluster.Annotations[clusterv1.PausedAnnotation] = "" })
	integration.Update(integration.User{T: t, G: w.WithT, Client: user}, cluster, integration.Status, func(cluster *infrav1.HarvesterCluster) {
		cluster.Status.FailureDomains = []clusterv1.FailureDomain{{
			Name: host.Name, ControlPlane: ptr.To(true), Attributes: map[string]string{"topologyKey": corev1.LabelHostname},
		}}
	})
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) { delete(cluster.Annotations, clusterv1.PausedAnnotation) })
	w.waitForProvisioned(cluster)
	w.Expect(names(cluster)).To(Equal([]string{host.Name}))
	w.Expect(cluster.Status.FailureDomains[0].ControlPlane).To(HaveValue(BeTrue()), "%s", conditionsOf{cluster})
	change(w, w.harvester, host, func(node *corev1.Node) { node.Labels[w.zoneKey()] = "a" })
	w.eventually(cluster, func(g Gomega) { g.Expect(names(cluster)).To(Equal([]string{"a"})) })
}

func TestDeclaredFailureDomainsArePublished(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a", "b")
	cluster := w.cluster("c", givenEndpoint, func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.FailureDomains = []infrav1.HarvesterFailureDomain{
			{Name: "one", TopologyKey: w.zoneKey(), TopologyValue: "a"}, {Name: "empty", TopologyKey: w.zoneKey()},
			{Name: "workers", TopologyKey: w.zoneKey(), TopologyValue: "b", ControlPlane: ptr.To(false)},
		}
	})
	w.waitForProvisioned(cluster)
	w.Expect(names(cluster)).To(Equal([]string{"empty", "one", "workers"}))
	for i, controlPlane := range []bool{false, true, false} {
		w.Expect(cluster.Status.FailureDomains[i].ControlPlane).To(HaveValue(Equal(controlPlane)), cluster.Status.FailureDomains[i].Name)
	}
	w.Expect(conditions.GetMessage(cluster, infrav1.FailureDomainsReadyCondition)).To(ContainSubstring("empty: no host of Harvester has the label " + w.zoneKey()))
}
