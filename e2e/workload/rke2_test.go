// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package workload_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/etcd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rke2 makes it a machine that boots RKE2.
func rke2(m *clusterv1.Machine) {
	m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "RKE2Config", Name: m.Name}
}

// newRKE2Fixture returns a fixture with the cluster blue, whose machines cp-0 and cp-1 run RKE2.
func newRKE2Fixture(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t)
	w.createCluster("blue")
	w.provisioned("blue", "cp-0", controlPlane, rke2)
	w.eventuallyReady("blue", "cp-0")
	w.provisioned("blue", "cp-1", controlPlane, rke2)
	w.eventuallyReady("blue", "cp-0", "cp-1")
	return w
}

func TestRKE2RemovesAnEtcdMemberOnRequest(t *testing.T) {
	w := newRKE2Fixture(t)

	c, node := w.workload("blue"), &corev1.Node{}
	w.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "rke2-serving"}, &corev1.Secret{})).To(Succeed())
	w.Expect(c.Get(t.Context(), client.ObjectKey{Name: "cp-0"}, node)).To(Succeed())
	w.Expect(node.Labels).To(HaveKeyWithValue("node-role.kubernetes.io/control-plane", "true"))
	before := node.DeepCopy()
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, "etcd.rke2.cattle.io/remove", "true")
	w.Expect(c.Patch(t.Context(), node, client.MergeFrom(before))).To(Succeed())
	w.Eventually(func() (map[string]string, error) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(node), node)
		return node.Annotations, err
	}).Should(HaveKeyWithValue("etcd.rke2.cattle.io/removed-node-name", "cp-0"))
	names, leader, err := w.members("blue", "cp-1")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(names).To(ConsistOf(MatchRegexp("^cp-1-[0-9a-f]{8}$")), "the control-plane provider removes the suffix to find the Node")
	w.Expect(leader).To(Equal(names[0]))
}

// The control-plane provider moves the leader away before it deletes a machine.
func TestRKE2MovesTheEtcdLeader(t *testing.T) {
	w := newRKE2Fixture(t)
	connection, err := w.etcd("blue", "cp-0")
	w.Expect(err).NotTo(HaveOccurred())
	defer func() { w.Expect(connection.Close()).To(Succeed()) }()
	members, err := connection.Members(t.Context())
	w.Expect(err).NotTo(HaveOccurred())
	i := slices.IndexFunc(members, func(m *etcd.Member) bool { return strings.HasPrefix(m.Name, "cp-1-") })
	w.Expect(i).NotTo(Equal(-1))
	// A move within the second in which the old leader was elected has no effect.
	w.Eventually(func(g Gomega) {
		g.Expect(connection.MoveLeader(t.Context(), members[i].ID)).To(Succeed())
		_, leader, err := w.members("blue", "cp-0")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(leader).To(Equal(members[i].Name))
	}).Should(Succeed())
}
