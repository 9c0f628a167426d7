// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/provider"
)

const (
	zone          = corev1.LabelTopologyZone
	region        = corev1.LabelTopologyRegion
	key           = faultlinev1.DistributionKeyLabel
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

func TestLabelsInOneRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	update(w, w.owner, integration.Whole, func(m *clusterv1.Machine) { m.Labels[key] = "blue-0" })
	w.connectable()
	w.start()
	w.join(unchanged)
	w.Eventually(w.labels).Should(Equal(map[string]string{corev1.LabelOSStable: "linux", zone: "zone-a", region: "north", key: "blue-0"}))
	w.Expect(w.node().Annotations).To(HaveKeyWithValue(faultlinev1.FailureDomainAnnotation, "a"))
	w.Expect(w.patches.Load()).To(BeEquivalentTo(1))
}

func TestLabelsFollowMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connectable()
	w.start()
	w.join(unchanged)
	w.Eventually(w.labels).Should(And(HaveKeyWithValue(zone, "zone-a"), HaveKeyWithValue(region, "north")))
	w.moveTo("b")
	w.Eventually(w.labels).Should(HaveKeyWithValue(zone, "zone-b"))
	w.moveTo("c")
	w.Eventually(w.labels).Should(And(HaveKeyWithValue(zone, "c"), Not(HaveKey(region))), "the cluster does not describe it")
	w.moveTo("")
	w.Eventually(w.labels).ShouldNot(HaveKey(zone))

	update(w, w.owner, integration.Whole, func(m *clusterv1.Machine) { m.Labels[key] = "blue-0" })
	w.Eventually(w.labels).Should(HaveKeyWithValue(key, "blue-0"))
	update(w, w.owner, integration.Whole, func(m *clusterv1.Machine) { m.Labels[key] = "blue-1" })
	w.Eventually(w.labels).Should(HaveKeyWithValue(key, "blue-1"))
	w.relabel(func(node *corev1.Node) { delete(node.Labels, key) })
	w.Eventually(w.labels).Should(HaveKeyWithValue(key, "blue-1"))
	update(w, w.owner, integration.Whole, func(m *clusterv1.Machine) { delete(m.Labels, key) })
	w.Eventually(w.labels).ShouldNot(HaveKey(key))
}

func TestZoneWithoutDescription(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connectable()
	w.start()
	w.join(unchanged)
	w.Eventually(w.labels).Should(HaveKeyWithValue(zone, "zone-a"))
	update(w, w.owner, integration.Whole, func(m *clusterv1.Machine) { m.Labels[key] = "mark-0" })
	w.publish(described("b"))
	w.Eventually(w.labels).Should(HaveKeyWithValue(key, "mark-0"))
	w.Expect(w.labels()).To(And(HaveKeyWithValue(zone, "zone-a"), HaveKeyWithValue(region, "north")), "the machine has not moved")
	moved := described("a")
	moved.Attributes["region"] = "south"
	w.publish(moved, described("b"))
	w.Eventually(w.labels).Should(HaveKeyWithValue(region, "south"), "the reported region changed")
}

func TestCloudProviderZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	update(w, w.owner, integration.Whole, func(m *clusterv1.Machine) { m.Labels[key] = "blue-0" })
	w.connectable()
	w.start()
	w.join(func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.Eventually(w.labels).Should(HaveKeyWithValue(key, "blue-0"))
	w.Expect(w.labels()).NotTo(Or(HaveKey(zone), HaveKey(region)), "it is the cloud provider's turn")
	w.relabel(func(node *corev1.Node) { node.Spec.Taints, node.Labels[zone] = nil, "cloud" })
	w.Eventually(w.labels).Should(HaveKeyWithValue(region, "north"), "the cloud provider has set none")
	w.Expect(w.labels()).To(HaveKeyWithValue(zone, "cloud"))
	w.moveTo("b")
	w.Eventually(func() map[string]string { return w.node().Annotations }).Should(HaveKeyWithValue(faultlinev1.FailureDomainAnnotation, "b"))
	w.Expect(w.labels()).To(HaveKeyWithValue(zone, "cloud"))
}

func TestConcurrentZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.interfere = func() { w.relabel(func(node *corev1.Node) { node.Labels[zone] = "cloud" }) }
	w.connectable()
	w.start()
	w.join(unchanged)
	w.Eventually(w.labels).Should(HaveKeyWithValue(region, "north"))
	w.Expect(w.labels()).To(HaveKeyWithValue(zone, "cloud"))
	w.Expect(w.patches.Load()).To(BeNumerically(">=", 2), "the first has lost")
}

func TestUnreachableCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	w.join(unchanged)
	w.connectable()
	w.Eventually(w.labels).Should(HaveKeyWithValue(zone, "zone-a"))
}

func TestChangesDuringDowntime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connectable()
	w.start()
	w.join(unchanged)
	w.Eventually(w.labels).Should(HaveKeyWithValue(zone, "zone-a"))
	w.stop()
	w.moveTo("b")
	w.start()
	w.Eventually(w.labels).Should(HaveKeyWithValue(zone, "zone-b"))
}

func TestPausedCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	update(w, cluster, integration.Whole, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	w.connectable()
	w.start()
	w.join(unchanged)
	w.Consistently(w.labels, time.Second, 100*time.Millisecond).ShouldNot(HaveKey(zone))
	update(w, cluster, integration.Whole, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
	w.Eventually(w.labels).Should(HaveKeyWithValue(zone, "zone-a"))
}

func TestLabeledNodeNeedsNoRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connectable()
	w.start()
	w.join(unchanged)
	w.Eventually(w.labels).Should(HaveKeyWithValue(zone, "zone-a"))
	w.stop()
	before := w.patches.Load()
	w.start()
	update(w, w.owner, integration.Whole, func(m *clusterv1.Machine) { m.Labels["example.com/other"] = "x" })
	w.publish(described("a"), described("b"), described("d"))
	w.Consistently(w.patches.Load, 2*time.Second, 100*time.Millisecond).Should(Equal(before))
	w.moveTo("b")
	w.Eventually(w.labels).Should(HaveKeyWithValue(zone, "zone-b"), "all this time it was looked after")
	w.Expect(w.patches.Load()).To(Equal(before + 1))
}

// racks provides labels of a provider: the annotations of a ConfigMap with the name of the machine.
type racks struct{ reader client.Reader }

func (r racks) Labels(ctx context.Context, _ provider.Cluster, machine client.Object) (*nodes.Labels, error) {
	described := &corev1.ConfigMap{}
	if err := r.reader.Get(ctx, client.ObjectKeyFromObject(machine), described); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &nodes.Labels{
		Set:   labels.Set(described.Annotations),
		Owned: func(key string) bool { return key == "example.com/rack" },
	}, nil
}

func (racks) Watches() []nodes.LabelWatch {
	return []nodes.LabelWatch{{
		Object: &corev1.ConfigMap{}, Changed: predicate.Funcs{},
		Machines: func(_ context.Context, o client.Object) []ctrl.Request {
			return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
		},
	}}
}

func TestProviderLabels(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.source = racks{w.client}
	w.connectable()
	w.start()
	w.join(func(node *corev1.Node) { node.Labels["example.com/rack"] = "7" })
	w.Consistently(w.labels, time.Second, 100*time.Millisecond).ShouldNot(HaveKey(zone), "nothing is known of the rack yet")
	rack := &corev1.ConfigMap{ObjectMeta: w.meta("m")}
	rack.Annotations = map[string]string{"example.com/row": "3"}
	w.create(rack)
	w.Eventually(w.labels).Should(And(
		HaveKeyWithValue("example.com/row", "3"), HaveKeyWithValue(zone, "zone-a"), Not(HaveKey("example.com/rack"))))
	update(w, rack, integration.Whole, func(c *corev1.ConfigMap) { c.Annotations = map[string]string{zone: "row-3"} })
	w.Eventually(w.labels).Should(And(HaveKeyWithValue(zone, "row-3"), Not(HaveKey("example.com/row"))))
}

func TestLabelsOfANodeThatAreRecordedUnderTheFormerNameAreRemovedAndThoseWithFormerNamesRenamed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	note, oldKey := faultlinev1.FormerName(faultlinev1.LabelsFromMachineAnnotation), faultlinev1.FormerName(key)
	update(w, w.owner, integration.Whole, func(m *clusterv1.Machine) { m.Labels[oldKey] = "blue-0" }) // which spread has not renamed yet
	w.connectable()
	w.join(func(node *corev1.Node) {
		recorded := labels.Set{oldKey: "blue-0", zone: "zone-b", region: "south"}
		node.Labels = labels.Merge(node.Labels, recorded)
		node.Annotations = map[string]string{faultlinev1.FailureDomainAnnotation: "b", note: recorded.String()}
	})
	w.start()
	want := map[string]string{corev1.LabelOSStable: "linux", zone: "zone-a", region: "north", key: "blue-0"}
	w.Eventually(w.labels).Should(Equal(want))
	w.Expect(w.node().Annotations).To(HaveKey(faultlinev1.LabelsFromMachineAnnotation))
	w.Expect(w.node().Annotations).NotTo(HaveKey(note))
	w.Expect(w.patches.Load()).To(BeEquivalentTo(2), "former names are removed once the others are stored")
}
