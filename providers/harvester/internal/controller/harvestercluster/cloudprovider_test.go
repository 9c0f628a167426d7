// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// manifests makes those of the cloud provider.
func (w *world) manifests() *corev1.ConfigMap {
	w.t.Helper()
	manifests := &corev1.ConfigMap{ObjectMeta: w.meta("manifests"), Data: map[string]string{"all": "kind: Nothing\n"}}
	w.Expect(user.Create(w.t.Context(), manifests)).To(Succeed())
	return manifests
}

// withCloudProvider has an account made, and its kubeconfig written into the manifests.
func withCloudProvider(cluster *infrav1.HarvesterCluster) {
	cluster.Spec.UpdateCloudProviderConfig = infrav1.UpdateCloudProviderConfig{
		ManifestsConfigMapNamespace: cluster.Namespace, ManifestsConfigMapName: "manifests", ManifestsConfigMapKey: "all",
		CloudConfigCredentialsSecretName: "cloud-config", CloudConfigCredentialsSecretKey: "cloud-config",
	}
}

func withoutCloudProvider(cluster *infrav1.HarvesterCluster) {
	cluster.Spec.UpdateCloudProviderConfig = infrav1.UpdateCloudProviderConfig{}
}

// account is what there is of the cloud provider's on Harvester.
func (w *world) account(g Gomega, cluster *infrav1.HarvesterCluster) (all []string) {
	own := client.MatchingLabels{infrav1.ClusterIDLabel: cluster.Annotations[infrav1.ClusterIDAnnotation]}
	accounts, tokens, bindings := &corev1.ServiceAccountList{}, &corev1.SecretList{}, &rbacv1.ClusterRoleBindingList{}
	for _, list := range []client.ObjectList{accounts, tokens, bindings} {
		g.Expect(w.harvester.List(w.t.Context(), list, own)).To(Succeed())
	}
	for i := range accounts.Items {
		all = append(all, "ServiceAccount "+accounts.Items[i].Name)
	}
	for i := range tokens.Items {
		all = append(all, "Secret "+tokens.Items[i].Name)
	}
	for i := range bindings.Items {
		all = append(all, "ClusterRoleBinding "+bindings.Items[i].Name)
	}
	return all
}

func TestTheCloudProviderHasAnAccountOfItsOwnAsLongAsTheClusterIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	cluster := w.cluster("c", given, withCloudProvider)
	w.says(cluster, infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigNotReadyReason)
	manifests := w.manifests()
	w.provisioned(cluster)
	w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(manifests), manifests)).To(Succeed())
	w.Expect(manifests.Data["all"]).To(And(HavePrefix("kind: Nothing\n---\n"), ContainSubstring("name: cloud-config")))
	w.Expect(w.account(w, cluster)).To(HaveLen(3))

	w.remove(cluster)
	w.Expect(w.account(w, cluster)).To(BeEmpty())
}

func TestTheAccountOfTheCloudProviderGoesWhenNobodyAsksForItAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.manifests()
	cluster := w.cluster("c", given, withCloudProvider)
	w.provisioned(cluster)
	change(w, user, cluster, withoutCloudProvider)
	w.eventually(cluster, func(g Gomega) {
		g.Expect(w.account(g, cluster)).To(BeEmpty())
		g.Expect(conditions.Has(cluster, infrav1.CloudProviderConfigReadyCondition)).To(BeFalse())
	})
	change(w, user, cluster, withCloudProvider)
	w.says(cluster, infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigGeneratedSuccessfullyReason)
	w.Expect(w.account(w, cluster)).To(HaveLen(3), "it is made again")
}

func TestTheAccountOfTheCloudProviderGoesWithAClusterThatDoesNotNameItAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.manifests()
	cluster := w.cluster("c", given, withCloudProvider)
	w.provisioned(cluster)
	w.stop()
	change(w, user, cluster, withoutCloudProvider)
	cluster.Status = infrav1.HarvesterClusterStatus{} // as after a move
	w.Expect(user.Status().Update(t.Context(), cluster)).To(Succeed())
	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	w.start()
	w.gone(cluster)
	w.Expect(w.account(w, cluster)).To(BeEmpty())
}

func TestAClusterWhoseAccountMaySeeNoAccountsGoesWithoutLookingForOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.Expect(w.harvester.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	w.identity(sim.KubeconfigFor(w.name, rightsWithoutAccounts(), ""))
	cluster := w.cluster("c", given)
	w.provisioned(cluster)
	w.remove(cluster)
}

// rightsWithoutAccounts are those that a cluster needs without a cloud provider.
func rightsWithoutAccounts() []rbacv1.PolicyRule {
	all := []string{"get", "list", "watch", "create", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces", "services", "nodes"}, Verbs: all},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: all},
		{APIGroups: []string{"loadbalancer.harvesterhci.io"}, Resources: []string{"ippools", "loadbalancers"}, Verbs: all},
	}
}

func TestAnAccountThatMayNotBeMadeIsToldAndMadeWhenItMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.Expect(w.harvester.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	w.identity(sim.KubeconfigFor(w.name, rightsWithoutAccounts(), ""))
	w.manifests()
	cluster := w.cluster("c", given, withCloudProvider)
	w.Expect(w.says(cluster, infrav1.CloudProviderConfigReadyCondition, infrav1.HarvesterAccessDeniedReason)).To(ContainSubstring("serviceaccounts"))
	w.Expect(cluster.Status.Ready).To(BeFalse())
	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	w.Expect(w.says(cluster, infrav1.InfrastructureReadyCondition, infrav1.HarvesterAccessDeniedReason)).To(ContainSubstring("clusterrolebindings"))
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) { cluster.Annotations[infrav1.AbandonAnnotation] = "" })
	w.gone(cluster)
}
