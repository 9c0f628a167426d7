// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package workload_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/workload"
	"github.com/faultline-io/faultline/shared/testenv"
)

// clusterctl pauses a Cluster, creates its objects in another cluster, deletes the old ones and resumes the new ones.
func TestMovedClusterKeepsItsNodes(t *testing.T) {
	w := newFixture(t)
	other := w.neighbour()
	cluster := w.createCluster("blue")
	old := []*clusterv1.Machine{w.provisioned("blue", "cp-0", controlPlane), w.provisioned("blue", "worker-0")}
	w.eventuallyReady("blue", "cp-0", "worker-0")
	before := w.created("blue")

	pause(w, cluster, true)
	moved := &clusterv1.Cluster{ObjectMeta: other.meta("blue"), Spec: *cluster.Spec.DeepCopy()}
	moved.Spec.Paused = ptr.To(true)
	other.create(moved)
	machines := []*clusterv1.Machine{other.provisioned("blue", "cp-0", controlPlane, unseen), other.provisioned("blue", "worker-0", unseen)}
	for _, machine := range old {
		w.delete(machine)
	}
	w.Consistently(func() (map[string]corev1.ConditionStatus, error) { return w.nodes("blue") }, "500ms").
		Should(Equal(ready("cp-0", "worker-0")), "on its way")
	w.delete(cluster)
	pause(other, moved, false)

	other.provisioned("blue", "worker-1")
	other.eventuallyReady("blue", "cp-0", "worker-0", "worker-1")
	after := other.created("blue")
	for node, since := range before {
		w.Expect(after).To(HaveKeyWithValue(node, since))
	}
	other.delete(machines[1])
	other.eventuallyReady("blue", "cp-0", "worker-1")
	other.delete(moved)
	w.Eventually(func() error { _, err := w.simulator.ClientFor(w.namespace, "blue"); return err }).Should(HaveOccurred(), "it is forgotten")
}

// neighbour returns a management API with a simulator that serves the same clusters.
func (w *fixture) neighbour() *fixture {
	w.t.Helper()
	second := testenv.Start(w.t, testenv.Options{ClusterAPI: true})
	other := newFixtureOn(w.t, second.Config, func(o *workload.Options) { o.With = w.simulator })
	other.namespace = w.namespace
	other.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	return other
}

// unseen clears the status of a Machine, as in a new management API that has not determined it yet.
func unseen(m *clusterv1.Machine) { m.Status = clusterv1.MachineStatus{} }

func pause(w *fixture, cluster *clusterv1.Cluster, paused bool) {
	w.t.Helper()
	before := cluster.DeepCopy()
	cluster.Spec.Paused = ptr.To(paused)
	w.Expect(w.client.Patch(w.t.Context(), cluster, client.MergeFrom(before))).To(Succeed())
}

// created returns the creation time of each node.
func (w *fixture) created(cluster string) map[string]time.Time {
	w.t.Helper()
	list := &corev1.NodeList{}
	w.Expect(w.workload(cluster).List(w.t.Context(), list)).To(Succeed())
	since := map[string]time.Time{}
	for i := range list.Items {
		since[list.Items[i].Name] = list.Items[i].CreationTimestamp.Time
	}
	return since
}
