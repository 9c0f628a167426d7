// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvestercluster_test

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// removeAnnotations installs a policy that removes Faultline's annotations from HarvesterClusters. It returns a function that removes the
// policy.
func (w *fixture) removeAnnotations() (keep func()) {
	w.t.Helper()
	example := &infrav1.HarvesterCluster{ObjectMeta: w.meta("example")}
	example.Spec = infrav1.HarvesterClusterSpec{IdentitySecret: infrav1.SecretKey{Namespace: w.name, Name: "identity"}, TargetNamespace: w.name}
	return integration.User{T: w.t, G: w.WithT, Client: user}.Strip(example, "infrastructure.cluster.x-k8s.io/")
}

// triggerReconcile triggers a reconcile of the cluster.
func (w *fixture) triggerReconcile(cluster *infrav1.HarvesterCluster, value string) {
	w.t.Helper()
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) { cluster.Labels["touched"] = value })
}

func TestNothingIsCreatedWhileIDIsRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	keep := w.removeAnnotations()
	cluster := w.cluster("c")
	w.Expect(w.waitForReason(cluster, infrav1.InfrastructureReadyCondition, infrav1.AnnotationsRemovedReason)).To(And(
		HavePrefix("nothing is created on Harvester: "), ContainSubstring("annotation "+infrav1.ClusterIDAnnotation),
		ContainSubstring("find the mutating admission policy or webhook")))
	id := cluster.Status.ID
	w.Expect(id).NotTo(BeEmpty())
	w.Expect(cluster.Status.Ready).To(BeFalse())
	w.stop()
	w.start()
	w.triggerReconcile(cluster, "once")
	w.waitForReason(cluster, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterConnectionReadyReason)
	w.waitForReason(cluster, infrav1.FailureDomainsReadyCondition, "AllActive")
	w.Expect(cluster.Status.ID).To(Equal(id), "it draws no second one")
	w.Expect(w.balancers()).To(BeEmpty())
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKey{Name: w.name}, &corev1.Namespace{})).To(MatchError(apierrors.IsNotFound, "there is not even a namespace"))

	keep()
	w.triggerReconcile(cluster, "twice")
	w.waitForProvisioned(cluster)
	w.Expect(cluster.Annotations).To(HaveKeyWithValue(infrav1.ClusterIDAnnotation, id))
	w.Expect(cluster.Status.ID).To(Equal(id))
	w.Expect(w.balancers()).To(HaveExactElements(HaveField("Labels", HaveKeyWithValue(infrav1.ClusterIDLabel, id))))
}

func TestRemovedIDIsRestoredFromStatus(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c")
	w.waitForProvisioned(cluster)
	before, balancer := maps.Clone(cluster.Annotations), w.balancers()[0]
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) { cluster.Annotations = nil })
	w.eventually(cluster, func(g Gomega) { g.Expect(cluster.Annotations).To(Equal(before)) })
	w.Expect(w.balancers()).To(HaveExactElements(HaveField("UID", balancer.UID)))
}

func TestRemovedIDKeepsObjectsUntilDeletion(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c")
	w.waitForProvisioned(cluster)
	balancer := w.balancers()[0]
	w.removeAnnotations()
	w.triggerReconcile(cluster, "once")
	w.waitForReason(cluster, infrav1.InfrastructureReadyCondition, infrav1.AnnotationsRemovedReason)
	w.Expect(cluster.Annotations).NotTo(HaveKey(infrav1.ClusterIDAnnotation))
	w.Expect(cluster.Status.Ready).To(BeTrue(), "machines run")
	w.Expect(w.balancers()).To(HaveExactElements(And(HaveField("UID", balancer.UID), HaveField("DeletionTimestamp", BeNil()))))
	w.remove(cluster)
	w.expectNoLoadBalancers()
}
