// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/setup"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

// tenancy is a management cluster whose API server calls no webhooks, so that only the manager isolates tenants.
type tenancy struct {
	*WithT
	t      *testing.T
	admin  client.Client
	sim    *simulator.Simulator
	victim testenv.Tenant
	tenant testenv.Tenant
}

// TestRightsInOneNamespaceReachNothingOfOthers lets a tenant try to use the permissions of the manager, which runs as installed except
// for its webhooks.
func TestRightsInOneNamespaceReachNothingOfOthers(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), "config", map[string]string{"CAPHV_IDENTITY_NAMESPACES": "enforce"})
	g.Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	for _, add := range provider(&manager.Options{}, setup.Options{}).Scheme {
		g.Expect(add(scheme)).To(Succeed())
	}
	env := testenv.Start(t, testenv.Options{Scheme: scheme, Config: "config", ClusterAPI: true, ControlPlane: true, Conversion: true})
	admin, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	components.InstallRights(t, admin)
	sim := simulator.Start(t, simulator.WithLayout(simulator.Zones(1, 1)))
	victim := testenv.NewTenant(t, env, admin)
	integration.NewUser(t, admin).Create(&corev1.Secret{
		ObjectMeta: victim.Meta("harvester"), Data: map[string][]byte{infrav1.KubeconfigKey: sim.Kubeconfig()},
	})
	testenv.RunManager(t, env, components, testenv.FloodFlag())
	for name, attempt := range map[string]func(*tenancy){
		"a tenant reads and writes only in its namespace":       (*tenancy).readsOthers,
		"the account of another":                                (*tenancy).usesTheAccount,
		"a Secret that allowed a namespace and does so no more": (*tenancy).keepsTheAccount,
		"a ConfigMap of another":                                (*tenancy).writesIntoOthers,
		"a ConfigMap of Kubernetes":                             (*tenancy).writesIntoKubernetes,
		"a ConfigMap of another, with a forged status":          (*tenancy).forgesTheStatus,
		"the token of the manager":                              (*tenancy).drawsTheToken,
		"answers that do not end":                               (*tenancy).floods,
	} {
		t.Run(name, func(t *testing.T) {
			g := integration.NewGomega(t)
			attempt(&tenancy{WithT: g, t: t, admin: admin, sim: sim, victim: victim, tenant: testenv.NewTenant(t, env, admin)})
		})
	}
}

// cluster creates a cluster with the account of a namespace.
func (w *tenancy) cluster(account testenv.Tenant, changes ...func(*infrav1.HarvesterCluster)) *infrav1.HarvesterCluster {
	w.t.Helper()
	infra := &infrav1.HarvesterCluster{ObjectMeta: w.tenant.Meta("c"), Spec: infrav1.HarvesterClusterSpec{
		IdentitySecret:     infrav1.SecretKey{Namespace: account.Namespace, Name: "harvester"},
		TargetNamespace:    w.tenant.Namespace,
		LoadBalancerConfig: infrav1.LoadBalancerConfig{IPAMType: infrav1.DHCP},
	}}
	for _, change := range changes {
		change(infra)
	}
	u := integration.NewUser(w.t, w.tenant.Client)
	if account.Namespace == w.tenant.Namespace {
		u.Create(&corev1.Secret{ObjectMeta: w.tenant.Meta("harvester"), Data: map[string][]byte{infrav1.KubeconfigKey: w.sim.Kubeconfig()}})
	}
	u.Cluster(infra)
	return infra
}

// refused waits for the reason of a condition.
func (w *tenancy) refused(infra *infrav1.HarvesterCluster, condition, reason string) {
	w.t.Helper()
	integration.NewUser(w.t, w.tenant.Client).Condition(infra, condition, reason)
}

// nothing expects that no object was created for the tenant on Harvester.
func (w *tenancy) nothing() {
	w.t.Helper()
	namespace := &corev1.Namespace{}
	w.Expect(w.sim.Client().Get(w.t.Context(), client.ObjectKey{Name: w.tenant.Namespace}, namespace)).To(MatchError(apierrors.IsNotFound, "is not found"))
	for _, list := range []client.ObjectList{&lbv1.LoadBalancerList{}, &corev1.ServiceAccountList{}} {
		w.Expect(w.sim.Client().List(w.t.Context(), list, client.InNamespace(w.tenant.Namespace))).To(Succeed())
		w.Expect(list).To(HaveField("Items", BeEmpty()))
	}
}

// into configures the ConfigMap that receives the kubeconfig of the cloud provider.
func into(namespace, name string) func(*infrav1.HarvesterCluster) {
	return func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.UpdateCloudProviderConfig = infrav1.UpdateCloudProviderConfig{
			ManifestsConfigMapNamespace: namespace, ManifestsConfigMapName: name, ManifestsConfigMapKey: "all",
			CloudConfigCredentialsSecretName: "cloud-config", CloudConfigCredentialsSecretKey: "cloud-config",
		}
	}
}

// manifests creates a ConfigMap with manifests for a cloud provider's kubeconfig.
func (w *tenancy) manifests(namespace string) *corev1.ConfigMap {
	w.t.Helper()
	made := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "manifests-" + w.tenant.Namespace},
		Data:       map[string]string{"all": "apiVersion: v1\nkind: Secret\nmetadata: {name: cloud-config, namespace: kube-system}\n"},
	}
	w.Expect(w.admin.Create(w.t.Context(), made)).To(Succeed())
	return made
}

// unchanged expects a ConfigMap to be unchanged.
func (w *tenancy) unchanged(made *corev1.ConfigMap) {
	w.t.Helper()
	now := &corev1.ConfigMap{}
	w.Expect(w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(made), now)).To(Succeed())
	w.Expect(now.Data).To(Equal(made.Data))
}

func (w *tenancy) readsOthers() {
	w.Expect(w.tenant.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.victim.Namespace, Name: "harvester"}, &corev1.Secret{})).
		To(MatchError(apierrors.IsForbidden, "is forbidden"))
	w.Expect(w.tenant.Client.List(w.t.Context(), &corev1.SecretList{}, client.InNamespace(w.tenant.Namespace))).To(Succeed())
}

func (w *tenancy) usesTheAccount() {
	own := w.manifests(w.tenant.Namespace)
	infra := w.cluster(w.victim, into(own.Namespace, own.Name))
	w.refused(infra, infrav1.HarvesterConnectionReadyCondition, infrav1.IdentitySecretNotAllowedReason)
	w.Expect(w.account().Finalizers).To(BeEmpty(), "the victim can delete it")
	w.nothing()
	w.unchanged(own)
	w.Expect(w.tenant.Client.Delete(w.t.Context(), infra)).To(Succeed())
	w.refused(infra, infrav1.HarvesterConnectionReadyCondition, infrav1.IdentitySecretNotAllowedReason)
}

func (w *tenancy) keepsTheAccount() {
	w.allow(w.tenant.Namespace)
	infra := w.cluster(w.victim)
	w.Eventually(func(g Gomega) {
		g.Expect(w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(infra), infra)).To(Succeed())
		g.Expect(infra.Status.Ready).To(BeTrue(), "%v", infra.Status.Conditions)
	}).Should(Succeed())
	w.Eventually(func() []string { return w.account().Finalizers }).Should(ConsistOf(infrav1.IdentitySecretFinalizer))
	w.allow("")
	w.refused(infra, infrav1.HarvesterConnectionReadyCondition, infrav1.IdentitySecretNotAllowedReason)
	w.Eventually(func() []string { return w.account().Finalizers }).Should(BeEmpty(), "the victim can delete it")
}

// account returns the Secret of the victim.
func (w *tenancy) account() *corev1.Secret {
	w.t.Helper()
	secret := &corev1.Secret{}
	w.Expect(w.admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.victim.Namespace, Name: "harvester"}, secret)).To(Succeed())
	return secret
}

// allow sets the namespaces that may use the Secret of the victim.
func (w *tenancy) allow(namespaces string) {
	w.t.Helper()
	integration.Update(integration.NewUser(w.t, w.admin), w.account(), integration.Whole, func(secret *corev1.Secret) {
		secret.Annotations = map[string]string{faultlinev1.AllowedNamespacesAnnotation: namespaces}
	})
}

func (w *tenancy) writesIntoOthers() {
	theirs := w.manifests(w.victim.Namespace)
	w.refused(w.cluster(w.tenant, into(theirs.Namespace, theirs.Name)), infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigNotAllowedReason)
	w.unchanged(theirs)
}

func (w *tenancy) writesIntoKubernetes() {
	theirs := w.manifests(metav1.NamespaceSystem)
	w.refused(w.cluster(w.tenant, into(theirs.Namespace, theirs.Name)), infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigNotAllowedReason)
	w.unchanged(theirs)
}

func (w *tenancy) forgesTheStatus() {
	theirs := w.manifests(w.victim.Namespace)
	infra := w.cluster(w.tenant, into(theirs.Namespace, theirs.Name))
	w.refused(infra, infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigNotAllowedReason)
	integration.Update(integration.NewUser(w.t, w.tenant.Client), infra, integration.Status, func(infra *infrav1.HarvesterCluster) {
		for i := range infra.Status.Conditions {
			infra.Status.Conditions[i].Status = metav1.ConditionTrue
		}
	})
	// The account that the status reports does not exist, so it is created, and its kubeconfig would be written again.
	w.refused(infra, infrav1.CloudProviderConfigReadyCondition, infrav1.CloudProviderConfigNotAllowedReason)
	w.unchanged(theirs)
}

// drawsTheToken makes the manager read a kubeconfig that refers to a file of the manager.
func (w *tenancy) drawsTheToken() {
	thief, u := testenv.NewSecretServer(w.t), integration.NewUser(w.t, w.tenant.Client)
	for _, name := range []string{"first", "second"} {
		kubeconfig := thief.File()
		if name == "second" {
			kubeconfig = thief.Own()
		}
		u.Kubeconfig(w.tenant.Namespace, name, kubeconfig)
		u.Cluster(&infrav1.HarvesterCluster{ObjectMeta: w.tenant.Meta(name), Spec: infrav1.HarvesterClusterSpec{
			IdentitySecret: infrav1.SecretKey{Namespace: w.tenant.Namespace, Name: "none"}, TargetNamespace: w.tenant.Namespace,
		}})
	}
	thief.ReceivesNothing(w.t)
	thief.IsRefused(w.t, w.tenant.Client, client.ObjectKey{Namespace: w.tenant.Namespace, Name: "first"})
}

// floods makes the manager connect to a workload cluster, and to a Harvester, whose responses exceed the limit.
func (w *tenancy) floods() {
	workload, harvester, u := testenv.NewFlood(w.t), testenv.NewFlood(w.t), integration.NewUser(w.t, w.tenant.Client)
	u.Kubeconfig(w.tenant.Namespace, "flood", workload.Kubeconfig())
	u.Create(&corev1.Secret{ObjectMeta: w.tenant.Meta("flood"), Data: map[string][]byte{infrav1.KubeconfigKey: harvester.Kubeconfig()}})
	infra := &infrav1.HarvesterCluster{ObjectMeta: w.tenant.Meta("flood"), Spec: infrav1.HarvesterClusterSpec{
		IdentitySecret: infrav1.SecretKey{Namespace: w.tenant.Namespace, Name: "flood"}, TargetNamespace: w.tenant.Namespace,
	}}
	u.Cluster(infra)
	harvester.IsEnded(w.t)
	w.refused(infra, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterConnectionFailedReason)
	workload.IsEnded(w.t)
}
