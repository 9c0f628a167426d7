// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// corefile is the content of an unrelated ConfigMap.
const corefile = ".:53 {\n    errors\n}\n"

// configMap creates a ConfigMap with the text in its key all.
func (w *fixture) configMap(namespace, name, text string) *corev1.ConfigMap {
	w.t.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"all": text}}
	w.Expect(user.Create(w.t.Context(), made)).To(Succeed())
	return made
}

// otherNamespace creates another namespace.
func (w *fixture) otherNamespace() string {
	w.t.Helper()
	return integration.NewNamespace(w.t, user)
}

// allow lets the test's namespace use an object.
func (w *fixture) allow(o client.Object) {
	w.t.Helper()
	o.SetAnnotations(map[string]string{faultlinev1.AllowedNamespacesAnnotation: w.name})
	w.Expect(user.Update(w.t.Context(), o)).To(Succeed())
}

// withManifests requests the kubeconfig in the named ConfigMap.
func withManifests(namespace, name string) func(*infrav1.HarvesterCluster) {
	return func(cluster *infrav1.HarvesterCluster) {
		withCloudProvider(cluster)
		cluster.Spec.UpdateCloudProviderConfig.ManifestsConfigMapNamespace = namespace
		cluster.Spec.UpdateCloudProviderConfig.ManifestsConfigMapName = name
	}
}

// expectUnchanged verifies that the ConfigMap is not allowed and was not changed.
func (w *fixture) expectUnchanged(cluster *infrav1.HarvesterCluster, configMap *corev1.ConfigMap, why string) {
	w.t.Helper()
	w.Expect(w.waitForReason(cluster, infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigNotAllowedReason)).To(ContainSubstring(why))
	now := &corev1.ConfigMap{}
	w.Expect(user.Get(w.t.Context(), client.ObjectKeyFromObject(configMap), now)).To(Succeed())
	w.Expect(now.Data).To(Equal(configMap.Data))
	w.Expect(w.account(w, cluster)).To(BeEmpty(), "no account is made for it")
}

func TestManifestsInOtherNamespaceRequireConsent(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	configMap := w.configMap(w.otherNamespace(), "addons", deployed)
	cluster := w.cluster("c", givenEndpoint, withManifests(configMap.Namespace, configMap.Name))
	w.expectUnchanged(cluster, configMap, "must be "+w.name)
	w.allow(configMap)
	w.stop()
	w.consent.CloudProviderConfigNamespaces = []string{configMap.Namespace}
	w.start()
	w.waitForProvisioned(cluster)
	w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap)).To(Succeed())
	w.Expect(configMap.Data["all"]).To(ContainSubstring("kind: Secret"))
}

func TestManifestsInAllowedNamespaceRequireAnnotation(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.stop()
	configMap := w.configMap(w.otherNamespace(), "addons", deployed)
	w.consent.CloudProviderConfigNamespaces = []string{configMap.Namespace}
	w.start()
	w.expectUnchanged(w.cluster("c", givenEndpoint, withManifests(configMap.Namespace, configMap.Name)), configMap, "add "+w.name+" to its annotation")
}

func TestManifestsInKubeSystemAreNotChanged(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.stop()
	configMap := w.configMap(metav1.NamespaceSystem, w.name, deployed)
	w.consent.CloudProviderConfigNamespaces = []string{metav1.NamespaceSystem}
	w.start()
	w.allow(configMap)
	w.expectUnchanged(w.cluster("c", givenEndpoint, withManifests(configMap.Namespace, configMap.Name)), configMap, "may not be kube-system")
}

func TestUnrelatedConfigMapRequiresAnnotation(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	configMap := w.configMap(w.name, "coredns", corefile)
	cluster := w.cluster("c", givenEndpoint, withManifests(configMap.Namespace, configMap.Name))
	w.expectUnchanged(cluster, configMap, "add the Secret")
	w.allow(configMap)
	w.waitForProvisioned(cluster)
}

func TestKubeconfigIsWrittenToClusterResourceSetSecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	configMap := w.manifests()
	secret := &corev1.Secret{ObjectMeta: w.meta("manifests"), Type: addonsv1.ClusterResourceSetSecretType, Data: map[string][]byte{"all": []byte(deployed)}}
	w.Expect(user.Create(t.Context(), secret)).To(Succeed())
	w.waitForProvisioned(w.cluster("c", givenEndpoint, withCloudProvider))
	now := &corev1.ConfigMap{}
	w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(configMap), now)).To(Succeed())
	w.Expect(now.Data).To(Equal(configMap.Data))
	w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	w.Expect(string(secret.Data["all"])).To(And(HavePrefix(deployed+"---\n"), ContainSubstring("name: cloud-config")))
}

func TestSecretOfOtherTypeHoldsNoManifests(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	secret := &corev1.Secret{ObjectMeta: w.meta("manifests"), Data: map[string][]byte{"all": []byte(deployed)}}
	w.Expect(user.Create(t.Context(), secret)).To(Succeed())
	cluster := w.cluster("c", givenEndpoint, withCloudProvider)
	w.Expect(w.waitForReason(cluster, infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigNotReadyReason)).To(ContainSubstring("does not exist"))
	w.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	w.Expect(string(secret.Data["all"])).To(Equal(deployed))
}
