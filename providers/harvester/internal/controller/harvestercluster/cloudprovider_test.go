// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
)

// deployed is a manifest of the cloud provider, which mounts its kubeconfig.
const deployed = "kind: Nothing\nvolumes: [{secret: {secretName: cloud-config}}]\n"

// manifests creates the ConfigMap with the cloud provider's manifests.
func (w *fixture) manifests() *corev1.ConfigMap {
	w.t.Helper()
	manifests := &corev1.ConfigMap{ObjectMeta: w.meta("manifests"), Data: map[string]string{"all": deployed}}
	w.Expect(user.Create(w.t.Context(), manifests)).To(Succeed())
	return manifests
}

// withCloudProvider requests an account, and its kubeconfig in the manifests.
func withCloudProvider(cluster *infrav1.HarvesterCluster) {
	cluster.Spec.UpdateCloudProviderConfig = infrav1.UpdateCloudProviderConfig{
		ManifestsConfigMapNamespace: cluster.Namespace, ManifestsConfigMapName: "manifests", ManifestsConfigMapKey: "all",
		CloudConfigCredentialsSecretName: "cloud-config", CloudConfigCredentialsSecretKey: "cloud-config",
	}
}

func withoutCloudProvider(cluster *infrav1.HarvesterCluster) {
	cluster.Spec.UpdateCloudProviderConfig = infrav1.UpdateCloudProviderConfig{}
}

// account returns the existing objects of the cloud provider's account on Harvester.
func (w *fixture) account(g Gomega, cluster *infrav1.HarvesterCluster) (all []string) {
	own := clusterLabels(cluster)
	for kind, list := range map[string]client.ObjectList{
		"ServiceAccount": &corev1.ServiceAccountList{}, "Secret": &corev1.SecretList{}, "RoleBinding": &rbacv1.RoleBindingList{},
		"ClusterRole": &rbacv1.ClusterRoleList{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBindingList{},
	} {
		g.Expect(w.harvester.List(w.t.Context(), list, own)).To(Succeed())
		g.Expect(meta.EachListItem(list, func(item runtime.Object) error {
			all = append(all, kind+" "+item.(client.Object).GetName())
			return nil
		})).To(Succeed())
	}
	slices.Sort(all)
	return all
}

// accountObjects is the number of objects of an account: the ServiceAccount, its token, its RoleBinding, and the ClusterRole and
// ClusterRoleBinding for hosts.
const accountObjects = 5

// asCloudProvider returns a client with the credentials of the cluster's cloud provider.
func (w *fixture) asCloudProvider(cluster *infrav1.HarvesterCluster) client.Client {
	w.t.Helper()
	tokens := &corev1.SecretList{}
	w.Expect(w.harvester.List(w.t.Context(), tokens, client.InNamespace(w.name), clusterLabels(cluster))).To(Succeed())
	w.Expect(tokens.Items).To(HaveLen(1))
	c, err := client.New(&rest.Config{
		Host: w.sim.Server(), BearerToken: string(tokens.Items[0].Data[corev1.ServiceAccountTokenKey]),
		TLSClientConfig: rest.TLSClientConfig{CAData: tokens.Items[0].Data[corev1.ServiceAccountRootCAKey]},
	}, client.Options{Scheme: w.harvester.Scheme()})
	w.Expect(err).NotTo(HaveOccurred())
	return c
}

func clusterLabels(cluster *infrav1.HarvesterCluster) client.MatchingLabels {
	return client.MatchingLabels{infrav1.ClusterIDLabel: cluster.Annotations[infrav1.ClusterIDAnnotation]}
}

// volume creates a claim on Harvester.
func (w *fixture) volume(namespace string) *corev1.PersistentVolumeClaim {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data-" + w.name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	w.Expect(w.harvester.Create(w.t.Context(), claim)).To(Succeed())
	return claim
}

func TestCloudProviderPermissions(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.manifests()
	cluster := w.cluster("c", givenEndpoint, withCloudProvider)
	w.waitForProvisioned(cluster)
	others, own := w.volume("default"), w.volume(w.name)
	guest := w.asCloudProvider(cluster)
	w.Expect(guest.Delete(t.Context(), others)).To(MatchError(apierrors.IsForbidden, "is forbidden"))
	w.Expect(guest.Delete(t.Context(), own)).To(Succeed())
	w.Expect(guest.List(t.Context(), &corev1.NodeList{})).To(Succeed(), "zones of Nodes are labels of hosts")
	w.Expect(guest.List(t.Context(), &corev1.SecretList{}, client.InNamespace(w.name))).To(MatchError(apierrors.IsForbidden, "is forbidden"))
}

func TestAccountOfEarlierReleaseIsRestrictedToItsNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	manifests := w.manifests()
	cluster := w.cluster("c", givenEndpoint, withCloudProvider)
	w.waitForProvisioned(cluster)
	w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(manifests), manifests)).To(Succeed())
	whole := w.account(w, cluster)
	w.stop()
	// As an earlier release created it.
	w.Expect(w.harvester.DeleteAllOf(t.Context(), &rbacv1.RoleBinding{}, client.InNamespace(w.name), clusterLabels(cluster))).To(Succeed())
	for _, kind := range []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
		w.Expect(w.harvester.DeleteAllOf(t.Context(), kind, clusterLabels(cluster))).To(Succeed())
	}
	accounts := &corev1.ServiceAccountList{}
	w.Expect(w.harvester.List(t.Context(), accounts, client.InNamespace(w.name), clusterLabels(cluster))).To(Succeed())
	former := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: accounts.Items[0].Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "harvesterhci.io:cloudprovider"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.name, Name: accounts.Items[0].Name}},
	}
	owned.By{Cluster: cluster, Name: "c"}.Mark(former)
	w.Expect(w.harvester.Create(t.Context(), former)).To(Succeed())

	w.start()
	w.eventually(cluster, func(g Gomega) { g.Expect(w.account(g, cluster)).To(Equal(whole)) })
	w.Expect(conditions.IsTrue(cluster, infrav1.CloudProviderConfigReadyCondition)).To(BeTrue())
	others := w.volume("default")
	w.Eventually(func() error { return w.asCloudProvider(cluster).Delete(t.Context(), others, client.DryRunAll) }).
		Should(MatchError(apierrors.IsForbidden, "is forbidden"))
	now := manifests.DeepCopy()
	w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(now), now)).To(Succeed())
	w.Expect(now.Data).To(Equal(manifests.Data), "its token is the same")
	w.remove(cluster)
	w.Expect(w.account(w, cluster)).To(BeEmpty())
}

func TestDeletedAccountObjectsAreRecreated(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	manifests := w.manifests()
	cluster := w.cluster("c", givenEndpoint, withCloudProvider)
	w.waitForProvisioned(cluster)
	w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(manifests), manifests)).To(Succeed())
	whole := w.account(w, cluster)
	w.stop()
	w.Expect(w.harvester.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(w.name), clusterLabels(cluster))).To(Succeed())
	w.Expect(w.harvester.DeleteAllOf(t.Context(), &rbacv1.RoleBinding{}, client.InNamespace(w.name), clusterLabels(cluster))).To(Succeed())
	w.start()
	w.eventually(cluster, func(g Gomega) {
		g.Expect(w.account(g, cluster)).To(Equal(whole))
		now := manifests.DeepCopy()
		g.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(now), now)).To(Succeed())
		g.Expect(now.Data).NotTo(Equal(manifests.Data), "the token that they had is worth nothing")
		g.Expect(conditions.IsTrue(cluster, infrav1.CloudProviderConfigReadyCondition)).To(BeTrue())
	})
}

func TestCloudProviderAccountLifecycle(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", givenEndpoint, withCloudProvider)
	w.waitForReason(cluster, infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigNotReadyReason)
	manifests := w.manifests()
	w.waitForProvisioned(cluster)
	w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(manifests), manifests)).To(Succeed())
	w.Expect(manifests.Data["all"]).To(And(HavePrefix(deployed+"---\n"), ContainSubstring("name: cloud-config")))
	w.Expect(w.account(w, cluster)).To(HaveLen(accountObjects))

	w.remove(cluster)
	w.Expect(w.account(w, cluster)).To(BeEmpty())
}

func TestAccountIsDeletedWhenNoLongerRequested(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.manifests()
	cluster := w.cluster("c", givenEndpoint, withCloudProvider)
	w.waitForProvisioned(cluster)
	change(w, user, cluster, withoutCloudProvider)
	w.eventually(cluster, func(g Gomega) {
		g.Expect(w.account(g, cluster)).To(BeEmpty())
		g.Expect(conditions.Has(cluster, infrav1.CloudProviderConfigReadyCondition)).To(BeFalse())
	})
	change(w, user, cluster, withCloudProvider)
	w.waitForReason(cluster, infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigGeneratedSuccessfullyReason)
	w.Expect(w.account(w, cluster)).To(HaveLen(accountObjects), "it is made again")
}

func TestUnrequestedAccountIsDeletedWithCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.manifests()
	cluster := w.cluster("c", givenEndpoint, withCloudProvider)
	w.waitForProvisioned(cluster)
	w.stop()
	change(w, user, cluster, withoutCloudProvider)
	cluster.Status = infrav1.HarvesterClusterStatus{} // as after a move
	w.Expect(user.Status().Update(t.Context(), cluster)).To(Succeed())
	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	w.start()
	w.waitForDeletion(cluster)
	w.Expect(w.account(w, cluster)).To(BeEmpty())
}

func TestDeleteWithoutPermissionToReadAccounts(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.Expect(w.harvester.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	w.identity(sim.KubeconfigFor(w.name, rightsWithoutAccounts(), ""))
	cluster := w.cluster("c", givenEndpoint)
	w.waitForProvisioned(cluster)
	w.remove(cluster)
}

// rightsWithoutAccounts returns the rights that a cluster needs without a cloud provider.
func rightsWithoutAccounts() []rbacv1.PolicyRule {
	all := []string{"get", "list", "watch", "create", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces", "services", "nodes"}, Verbs: all},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: all},
		{APIGroups: []string{"loadbalancer.harvesterhci.io"}, Resources: []string{"ippools", "loadbalancers"}, Verbs: all},
	}
}

func TestDeleteWithPermissionsOfEarlierRelease(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.manifests()
	cluster := w.cluster("c", givenEndpoint, withCloudProvider)
	w.waitForProvisioned(cluster)
	w.stop()
	w.identity(sim.KubeconfigFor(w.name, append(rightsWithoutAccounts(),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts", "secrets"}, Verbs: []string{"get", "create", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterrolebindings"}, Verbs: []string{"get", "create", "delete"}},
	), ""))
	w.start()
	w.Expect(w.waitForReason(cluster, infrav1.CloudProviderConfigReadyCondition, infrav1.HarvesterAccessDeniedReason)).To(ContainSubstring("rolebindings"))
	w.remove(cluster)
	w.Expect(w.account(w, cluster)).NotTo(ContainElement(Or(HavePrefix("ServiceAccount "), HavePrefix("Secret "))))
}

func TestAccountIsCreatedOncePermitted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.Expect(w.harvester.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	w.identity(sim.KubeconfigFor(w.name, rightsWithoutAccounts(), ""))
	w.manifests()
	cluster := w.cluster("c", givenEndpoint, withCloudProvider)
	w.Expect(w.waitForReason(cluster, infrav1.CloudProviderConfigReadyCondition, infrav1.HarvesterAccessDeniedReason)).To(ContainSubstring("serviceaccounts"))
	w.Expect(cluster.Status.Ready).To(BeFalse())
	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	w.Expect(w.waitForReason(cluster, infrav1.InfrastructureReadyCondition, infrav1.HarvesterAccessDeniedReason)).To(ContainSubstring("clusterrolebindings"))
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) { cluster.Annotations[infrav1.AbandonAnnotation] = "" })
	w.waitForDeletion(cluster)
}
