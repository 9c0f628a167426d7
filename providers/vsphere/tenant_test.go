// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/setup"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

// tenancy is a management cluster whose API server calls no webhooks, so that only the manager keeps tenants apart.
type tenancy struct {
	*WithT
	t      *testing.T
	admin  client.Client
	vc     *simulator.Server
	victim testenv.Tenant
	tenant testenv.Tenant
}

// TestTenantCannotReachOtherNamespaces has a tenant try everything that uses the manager's permissions. The manager
// runs as installed, except for its webhooks. A vCenter account is in the namespace of another tenant, and in an identity that
// only the other tenant may use.
func TestTenantCannotReachOtherNamespaces(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	for _, add := range provider(&manager.Options{}, setup.Options{}).Scheme {
		g.Expect(add(scheme)).To(Succeed())
	}
	env := testenv.Start(t, testenv.Options{Scheme: scheme, Config: "config", ClusterAPI: true, Conversion: true})
	admin, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	components.InstallRights(t, admin)
	vc := simulator.Start(t, simulator.ThreeZones())
	victim := testenv.NewTenant(t, env, admin)
	account := map[string]string{"username": vc.Username(), "password": vc.Password()}
	integration.NewUser(t, admin).Create(
		&corev1.Secret{ObjectMeta: victim.Meta("account"), StringData: account},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: components.Manager.Namespace, Name: "account"}, StringData: account},
		&infrav1.VSphereClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: "account"}, Spec: infrav1.VSphereClusterIdentitySpec{
			SecretName: "account",
			AllowedNamespaces: &infrav1.AllowedNamespaces{Selector: metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: victim.Namespace},
			}},
		}},
	)
	credentials := filepath.Join(t.TempDir(), "credentials.yaml")
	g.Expect(os.WriteFile(credentials, fmt.Appendf(nil, "username: %s\npassword: %s\n", vc.Username(), vc.Password()), 0o600)).To(Succeed())
	testenv.RunManager(t, env, components, testenv.FloodFlag(), "--credentials-file="+credentials)
	for name, attempt := range map[string]func(*tenancy){
		"kinds that are in no namespace": (*tenancy).makesZones,
		"a Secret of another":            (*tenancy).usesTheSecret,
		"an identity of another":         (*tenancy).usesTheIdentity,
		"the token of the manager":       (*tenancy).drawsTheToken,
		"the account of the manager":     (*tenancy).sendsTheAccount,
		"answers that do not end":        (*tenancy).floods,
	} {
		t.Run(name, func(t *testing.T) {
			g := integration.NewGomega(t)
			attempt(&tenancy{WithT: g, t: t, admin: admin, vc: vc, victim: victim, tenant: testenv.NewTenant(t, env, admin)})
			g.Expect(vc.Calls()).NotTo(HaveKey("Login"))
		})
	}
}

// cluster creates a VSphereCluster with an identity.
func (w *tenancy) cluster(of infrav1.VSphereIdentityReference) *infrav1.VSphereCluster {
	w.t.Helper()
	infra := &infrav1.VSphereCluster{ObjectMeta: w.tenant.Meta("c"), Spec: infrav1.VSphereClusterSpec{
		Server: w.vc.Host(), Thumbprint: w.vc.Thumbprint(), IdentityRef: of,
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
	}}
	integration.NewUser(w.t, w.tenant.Client).Cluster(infra)
	return infra
}

// refused waits until the cluster reports why it has no account.
func (w *tenancy) refused(infra *infrav1.VSphereCluster, why string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.tenant.Client.Get(w.t.Context(), client.ObjectKeyFromObject(infra), infra)).To(Succeed())
		g.Expect(conditions.IsFalse(infra, infrav1.VSphereClusterVCenterAvailableCondition)).To(BeTrue())
		g.Expect(conditions.GetMessage(infra, infrav1.VSphereClusterVCenterAvailableCondition)).To(ContainSubstring(why))
	}).Should(Succeed())
}

func (w *tenancy) makesZones() {
	for _, o := range []client.Object{
		&infrav1.VSphereClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: infrav1.VSphereClusterIdentitySpec{SecretName: "account"}},
		&infrav1.VSphereDeploymentZone{ObjectMeta: metav1.ObjectMeta{Name: "mine"}},
		&infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: "mine"}},
	} {
		w.Expect(w.tenant.Client.Create(w.t.Context(), o)).To(MatchError(apierrors.IsForbidden, "is forbidden"))
	}
}

func (w *tenancy) usesTheSecret() {
	w.refused(w.cluster(infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: "account"}), w.tenant.Namespace+"/account")
}

func (w *tenancy) usesTheIdentity() {
	w.refused(w.cluster(infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: "account"}), "does not select namespace "+w.tenant.Namespace)
}

// sendsTheAccount makes the manager log in with its own account to a server for which the tenant vouches.
func (w *tenancy) sendsTheAccount() {
	thief := testenv.NewSecretServer(w.t)
	infra := &infrav1.VSphereCluster{ObjectMeta: w.tenant.Meta("c"), Spec: infrav1.VSphereClusterSpec{
		Server: thief.Host(), Thumbprint: thief.Thumbprint(), ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
	}}
	integration.NewUser(w.t, w.tenant.Client).Cluster(infra)
	w.refused(infra, "has no servers")
	w.Expect(thief.Asked()).To(BeFalse(), "it was not even asked who it is")
}

// drawsTheToken makes the manager read a kubeconfig that names a file of the manager.
func (w *tenancy) drawsTheToken() {
	thief, u := testenv.NewSecretServer(w.t), integration.NewUser(w.t, w.tenant.Client)
	for _, name := range []string{"first", "second"} {
		kubeconfig := thief.File()
		if name == "second" {
			kubeconfig = thief.Own()
		}
		u.Kubeconfig(w.tenant.Namespace, name, kubeconfig)
		u.Cluster(&infrav1.VSphereCluster{ObjectMeta: w.tenant.Meta(name), Spec: infrav1.VSphereClusterSpec{
			Server: w.vc.Host(), Thumbprint: w.vc.Thumbprint(), IdentityRef: infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: "none"},
			ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
		}})
	}
	thief.ReceivesNothing(w.t)
	thief.IsRefused(w.t, w.tenant.Client, client.ObjectKey{Namespace: w.tenant.Namespace, Name: "first"})
}

// floods makes the manager connect to a workload cluster and to a vCenter whose responses exceed the size limit.
func (w *tenancy) floods() {
	workload, vc, u := testenv.NewFlood(w.t), testenv.NewFlood(w.t), integration.NewUser(w.t, w.tenant.Client)
	u.Kubeconfig(w.tenant.Namespace, "flood", workload.Kubeconfig())
	u.Create(&corev1.Secret{ObjectMeta: w.tenant.Meta("flood"), StringData: map[string]string{"username": "me", "password": "mine"}})
	infra := &infrav1.VSphereCluster{ObjectMeta: w.tenant.Meta("flood"), Spec: infrav1.VSphereClusterSpec{
		Server: vc.Host(), Thumbprint: vc.Thumbprint(), IdentityRef: infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: "flood"},
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
	}}
	u.Cluster(infra)
	vc.IsEnded(w.t)
	w.refused(infra, "the response is too long")
	workload.IsEnded(w.t)
}
