// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const (
	zoneLabel   = "topology.kubernetes.io/zone"
	regionLabel = "topology.kubernetes.io/region"
	rackLabel   = "example.com/rack"
)

// labels returns the labels of the only machine's Node.
func (p *unhealthyMachine) labels() map[string]string {
	p.t.Helper()
	return p.node().Labels
}

func (p *unhealthyMachine) label(key, value string) {
	p.t.Helper()
	update(p.fixture, p.host(p.key.Name), func(host *bmov1alpha1.BareMetalHost) {
		if host.Labels[key] = value; value == "" {
			delete(host.Labels, key)
		}
	})
}

func (p *unhealthyMachine) prefixes(value string) {
	p.t.Helper()
	update(p.fixture, &infrav1.Metal3Cluster{ObjectMeta: p.meta("one")}, func(infra *infrav1.Metal3Cluster) {
		infra.Annotations = map[string]string{"metal3.io/metal3-label-sync-prefixes": value}
	})
}

func TestNodeHasLabelsOfHost(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	p.label(rackLabel, "a")
	p.label("example.org/rack", "b")
	p.prefixes("example.com")
	p.Eventually(p.labels).Should(HaveKeyWithValue(rackLabel, "a"))
	p.Expect(p.labels()).NotTo(HaveKey("example.org/rack"))
	p.Expect(p.labels()).To(HaveKeyWithValue(infrav1.NodeUUIDLabel, string(p.host(p.key.Name).UID)))

	p.label(rackLabel, "c")
	p.Eventually(p.labels).Should(HaveKeyWithValue(rackLabel, "c"))
	update(p.fixture, p.node(), func(node *corev1.Node) { node.Labels[rackLabel] = "z" })
	p.Eventually(p.labels).Should(HaveKeyWithValue(rackLabel, "c"), "the host is right")
	p.label(rackLabel, "")
	p.Eventually(p.labels).ShouldNot(HaveKey(rackLabel))

	p.prefixes("example.com,example.org")
	p.Eventually(p.labels).Should(HaveKeyWithValue("example.org/rack", "b"))
	p.prefixes("example.com")
	p.Eventually(p.labels).ShouldNot(HaveKey("example.org/rack"), "its prefix is no longer synchronized")

	version := p.node().ResourceVersion
	p.label("plain", "x")
	p.Consistently(func() string { return p.node().ResourceVersion }).WithTimeout(time.Second).Should(Equal(version), "nothing to write")
}

func TestReservedPrefixIsRefused(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	p.label("node-role.kubernetes.io/control-plane", "x")
	p.label(rackLabel, "a")
	p.prefixes("node-role.kubernetes.io,example.com")
	p.Eventually(p.labels).Should(HaveKeyWithValue(rackLabel, "a"))
	p.Expect(p.labels()).NotTo(HaveKey("node-role.kubernetes.io/control-plane"))
	infra := &infrav1.Metal3Cluster{ObjectMeta: p.meta("one")}
	p.Expect(p.waitForCondition(infra, infrav1.Metal3ClusterLabelPrefixesRefusedCondition, infrav1.LabelPrefixRefusedReason)).
		To(ContainSubstring("node-role.kubernetes.io (is reserved to Kubernetes)"))
	p.Eventually(func(g Gomega) {
		events := &eventsv1.EventList{}
		g.Expect(p.client.List(t.Context(), events, client.InNamespace(p.name))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(
			HaveField("Reason", "LabelPrefixRefused"), HaveField("Regarding.Kind", "Metal3Cluster"), HaveField("Type", "Warning"),
			HaveField("Note", ContainSubstring("node-role.kubernetes.io (is reserved to Kubernetes)")))))
	}).Should(Succeed())
	p.prefixes("example.com")
	p.Eventually(func() []metav1.Condition { return p.get(infra).(*infrav1.Metal3Cluster).Status.Conditions }).
		ShouldNot(ContainElement(HaveField("Type", infrav1.Metal3ClusterLabelPrefixesRefusedCondition)), "its prefix is no longer listed")
}

func TestRefusedLabelIsReported(t *testing.T) {
	t.Parallel()
	const role = "node-role.kubernetes.io/control-plane"
	p := newUnhealthyMachine(t)
	shown := func() bool {
		p.get(p.machine)
		return conditions.Has(p.machine, infrav1.Metal3MachineHostLabelsRefusedCondition)
	}
	p.prefixes("node-role.kubernetes.io")
	p.Consistently(shown).WithTimeout(500*time.Millisecond).Should(BeFalse(), "the host has no such label")
	p.label(role, "x")
	p.Expect(p.waitForCondition(p.machine, infrav1.Metal3MachineHostLabelsRefusedCondition, infrav1.LabelPrefixRefusedReason)).
		To(And(ContainSubstring("BareMetalHost "+p.key.Name), ContainSubstring(role), ContainSubstring("metal3.io/metal3-label-sync-prefixes")))
	p.Expect(conditions.IsTrue(p.machine, infrav1.Metal3MachineReadyCondition)).To(BeTrue(), "the machine does its work")
	p.label(role, "")
	p.Eventually(shown).Should(BeFalse())
	p.label(role, "x")
	p.Eventually(shown).Should(BeTrue())
	p.prefixes("example.com")
	p.Eventually(shown).Should(BeFalse(), "its prefix is no longer listed")
}

func TestNodeZone(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	p.Eventually(p.labels).Should(HaveKeyWithValue(zoneLabel, "rack-1"))
	p.Expect(p.labels()).NotTo(HaveKey(regionLabel))
	update(p.fixture, &infrav1.Metal3Cluster{ObjectMeta: p.meta("one")}, func(infra *infrav1.Metal3Cluster) {
		infra.Spec.FailureDomains[0].Attributes = map[string]string{"region": "north"}
	})
	p.Eventually(p.labels).Should(HaveKeyWithValue(regionLabel, "north"))
	p.label(infrav1.FailureDomainLabel, "rack-2")
	p.Eventually(p.labels).Should(HaveKeyWithValue(zoneLabel, "rack-2"), "the host was in another rack all the time")
	p.Expect(p.labels()).NotTo(HaveKey(regionLabel))

	update(p.fixture, p.node(), func(node *corev1.Node) { node.Labels[zoneLabel] = "cloud" })
	p.label(infrav1.FailureDomainLabel, "rack-1")
	p.Eventually(p.labels).Should(HaveKeyWithValue(regionLabel, "north"))
	p.Expect(p.labels()).To(HaveKeyWithValue(zoneLabel, "cloud"), "it belongs to another controller now")
}

func TestForeignZoneIsKept(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 1))
	node := &corev1.Node{ObjectMeta: f.meta("")}
	node.Namespace, node.Name = "", f.name+"-cp-0"
	node.Labels = map[string]string{infrav1.NodeUUIDLabel: string(f.host(rack1).UID), zoneLabel: "cloud"}
	f.create(node)
	f.start()
	p := f.unhealthyMachine()
	p.label(rackLabel, "a")
	p.prefixes("example.com")
	p.Eventually(p.labels).Should(HaveKeyWithValue(rackLabel, "a"))
	p.Expect(p.labels()).To(HaveKeyWithValue(zoneLabel, "cloud"))
}

func TestLabelsChangedWhileStopped(t *testing.T) {
	t.Parallel()
	for name, quiet := range map[string]func(*unhealthyMachine) (resume func()){
		"no manager": func(p *unhealthyMachine) func() {
			p.stop()
			return p.start
		},
		"paused": func(p *unhealthyMachine) func() {
			cluster := &clusterv1.Cluster{ObjectMeta: p.meta("one")}
			update(p.fixture, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
			p.waitForCondition(p.machine, clusterv1.PausedCondition, clusterv1.PausedReason)
			return func() { update(p.fixture, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = nil }) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newUnhealthyMachine(t)
			p.label(rackLabel, "a")
			p.prefixes("example.com")
			p.Eventually(p.labels).Should(HaveKeyWithValue(rackLabel, "a"))
			resume := quiet(p)
			p.label(rackLabel, "b")
			p.Consistently(p.labels).WithTimeout(500 * time.Millisecond).Should(HaveKeyWithValue(rackLabel, "a"))
			resume()
			p.Eventually(p.labels).Should(HaveKeyWithValue(rackLabel, "b"))
		})
	}
}
