// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
)

func TestDeleteCopiedClusterKeepsObjectsOfOriginal(t *testing.T) {
	t.Parallel()
	for i, tc := range []struct {
		name   string
		change func(*infrav1.HarvesterCluster)
	}{
		{"with all annotations", func(*infrav1.HarvesterCluster) {}},
		{"as an earlier release has annotated it", func(cluster *infrav1.HarvesterCluster) {
			delete(cluster.Annotations, infrav1.IDOfAnnotation)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "a")
			w.manifests()
			first := w.cluster("c", fromPool(90+i), withCloudProvider)
			w.waitForProvisioned(first)
			balancer := w.balancers()[0]
			copied := w.cluster("copy", func(cluster *infrav1.HarvesterCluster) {
				cluster.Annotations, cluster.Spec = maps.Clone(first.Annotations), *first.Spec.DeepCopy()
			}, tc.change)
			w.Expect(w.waitForReason(copied, infrav1.InfrastructureReadyCondition, infrav1.IDNotOursReason)).To(And(
				ContainSubstring(infrav1.Owner(first.Namespace, first.Name)), ContainSubstring("remove these annotations")))
			w.Expect(copied.Status.Ready).To(BeFalse())
			w.remove(copied)

			now := w.balancers()
			w.Expect(now).To(HaveLen(1))
			w.Expect(now[0].UID).To(Equal(balancer.UID))
			w.Expect(now[0].DeletionTimestamp).To(BeNil())
			w.Expect(now[0].Annotations).To(HaveKeyWithValue(infrav1.OwnerAnnotation, infrav1.Owner(first.Namespace, first.Name)))
			pool := &lbv1.IPPool{}
			w.Expect(w.harvester.Get(t.Context(), client.ObjectKey{Name: balancer.Spec.IPPool}, pool)).To(Succeed())
			w.Expect(pool.DeletionTimestamp).To(BeNil())
			w.Expect(w.account(w, first)).NotTo(BeEmpty())
			w.remove(first)
			w.expectNoLoadBalancers()
		})
	}
}

func TestCopiedClusterWithoutAnnotationsGetsItsOwnObjects(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	first := w.cluster("c")
	w.waitForProvisioned(first)
	copied := w.cluster("copy", func(cluster *infrav1.HarvesterCluster) { cluster.Annotations = maps.Clone(first.Annotations) })
	w.waitForReason(copied, infrav1.InfrastructureReadyCondition, infrav1.IDNotOursReason)
	change(w, user, copied, func(cluster *infrav1.HarvesterCluster) {
		for _, key := range owned.ClusterAnnotations() {
			delete(cluster.Annotations, key)
		}
	})
	w.waitForProvisioned(copied)
	w.Expect(w.balancers()).To(HaveLen(2))
	w.remove(copied)
	w.Expect(w.balancers()).To(HaveLen(1))
}

func TestDeleteCopiedClusterDeletesItsOwnObjects(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.manifests()
	first := w.cluster("c", givenEndpoint, withCloudProvider)
	w.waitForProvisioned(first)
	whole := w.account(w, first)
	copied := w.cluster("copy", givenEndpoint, func(cluster *infrav1.HarvesterCluster) { cluster.Annotations = maps.Clone(first.Annotations) })
	w.waitForReason(copied, infrav1.InfrastructureReadyCondition, infrav1.IDNotOursReason)
	by := owned.By{Cluster: copied, Name: "copy"}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: by.NameFor("ccm")}}
	by.Mark(account)
	w.Expect(w.harvester.Create(t.Context(), account)).To(Succeed())
	w.remove(copied)
	w.Expect(w.account(w, first)).To(Equal(whole))
}

func TestDeleteCopiedClusterWithoutHarvester(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	first := w.cluster("c")
	w.waitForProvisioned(first)
	copied := w.cluster("copy", func(cluster *infrav1.HarvesterCluster) { cluster.Annotations = maps.Clone(first.Annotations) })
	w.waitForReason(copied, infrav1.InfrastructureReadyCondition, infrav1.IDNotOursReason)
	w.identity(unreachableKubeconfig())
	w.waitForReason(first, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterConnectionFailedReason)
	w.remove(copied)
	w.Expect(w.balancers()).To(HaveLen(1))
}
