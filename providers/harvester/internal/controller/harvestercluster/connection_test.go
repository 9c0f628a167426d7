// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestMissingKubeconfigIsReportedUntilItExists(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", givenEndpoint, func(cluster *infrav1.HarvesterCluster) { cluster.Spec.IdentitySecret.Name = "other" })
	w.Expect(w.waitForReason(cluster, infrav1.HarvesterConnectionReadyCondition, infrav1.IdentitySecretNotFoundReason)).To(ContainSubstring(w.name + "/other"))
	w.Expect(cluster.Status.Ready).To(BeFalse())
	w.Expect(user.Create(t.Context(), &corev1.Secret{ObjectMeta: w.meta("other"), Data: map[string][]byte{infrav1.KubeconfigKey: sim.Kubeconfig()}})).To(Succeed())
	w.waitForProvisioned(cluster)
}

// unreachableKubeconfig returns a kubeconfig for an address without a server.
func unreachableKubeconfig() []byte {
	return []byte(strings.ReplaceAll(string(sim.Kubeconfig()), sim.Server(), "https://127.0.0.1:1"))
}

func TestUnreachableHarvesterKeepsStatus(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a", "b")
	cluster := w.cluster("c", givenEndpoint)
	w.waitForProvisioned(cluster)
	w.identity(unreachableKubeconfig())
	w.waitForReason(cluster, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterConnectionFailedReason)
	w.eventually(cluster, func(g Gomega) {
		g.Expect(names(cluster)).To(Equal([]string{"a", "b"}))
		for _, domain := range cluster.Status.Distribution.FailureDomains {
			g.Expect(domain.State).To(Equal(faultlinev1.DomainActive))
			g.Expect(domain.StaleSince.IsZero()).To(BeFalse())
		}
		g.Expect(cluster.Status.Ready).To(BeTrue())
		g.Expect(conditions.IsTrue(cluster, clusterv1.ReadyCondition)).To(BeFalse())
	})
	w.identity(sim.Kubeconfig())
	w.eventually(cluster, func(g Gomega) { g.Expect(conditions.IsTrue(cluster, clusterv1.ReadyCondition)).To(BeTrue()) })
}

func TestMissingPermissionIsReportedUntilGranted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.Expect(w.harvester.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	all := []string{"get", "list", "watch", "create", "patch", "delete"}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces", "services"}, Verbs: all}}
	w.identity(sim.KubeconfigFor(w.name, rules, ""))
	cluster := w.cluster("c", fromPool(6))
	w.eventually(cluster, func(g Gomega) {
		g.Expect(conditionsOf{cluster}.String()).To(ContainSubstring("nodes"))
		g.Expect(conditionsOf{cluster}.String()).To(ContainSubstring("ippools"))
		g.Expect(conditionsOf{cluster}.String()).To(ContainSubstring(infrav1.HarvesterAccessDeniedReason))
	})
	w.Expect(cluster.Status.Ready).To(BeFalse())
	sim.Grant(w.name, append(rules,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: all},
		rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: all},
		rbacv1.PolicyRule{APIGroups: []string{lbv1.GroupVersion.Group}, Resources: []string{"ippools", "loadbalancers"}, Verbs: all},
	), "")
	w.waitForProvisioned(cluster)
}

// Caches of different kinds are not ordered: when the manager starts, the HarvesterCluster can be reconciled before its Cluster is cached.
func TestClusterThatIsCachedLastIsReconciled(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	owner := &clusterv1.Cluster{}
	late := w.cluster("late", givenEndpoint, func(cluster *infrav1.HarvesterCluster) {
		w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(cluster), owner)).To(Succeed())
		w.Expect(user.Delete(t.Context(), owner)).To(Succeed())
	})
	w.waitForProvisioned(w.cluster("other", givenEndpoint)) // the first is reconciled before it, without its Cluster
	w.Expect(late.Status.Conditions).To(BeEmpty())
	owner.ResourceVersion, owner.UID = "", ""
	w.Expect(user.Create(t.Context(), owner)).To(Succeed())
	w.waitForProvisioned(late)
}

func TestTerminatingTargetNamespaceIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}}
	w.Expect(w.harvester.Create(t.Context(), namespace)).To(Succeed())
	w.Expect(w.harvester.Delete(t.Context(), namespace)).To(Succeed()) // it stays Terminating without a namespace controller
	cluster := w.cluster("c", givenEndpoint)
	w.Expect(w.waitForReason(cluster, infrav1.TargetNamespaceReadyCondition, infrav1.TargetNamespaceNotReadyReason)).To(ContainSubstring("being deleted"))
	w.Expect(cluster.Status.Ready).To(BeFalse())
}

func TestTargetNamespaceIsCreated(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", givenEndpoint)
	w.waitForProvisioned(cluster)
	w.waitForReason(cluster, infrav1.TargetNamespaceReadyCondition, infrav1.TargetNamespaceReadyReason)
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKey{Name: w.name}, &corev1.Namespace{})).To(Succeed())
}

func TestPausedClusterIsNotReconciled(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", givenEndpoint, func(cluster *infrav1.HarvesterCluster) { cluster.Annotations[clusterv1.PausedAnnotation] = "" })
	w.waitForReason(cluster, clusterv1.PausedCondition, clusterv1.PausedReason)
	w.Expect(cluster.Finalizers).To(BeEmpty())
	w.Expect(cluster.Annotations).NotTo(HaveKey(infrav1.ClusterIDAnnotation))
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) { delete(cluster.Annotations, clusterv1.PausedAnnotation) })
	w.waitForProvisioned(cluster)
}
