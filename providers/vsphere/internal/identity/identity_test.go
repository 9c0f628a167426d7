// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"context"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/identity"
)

const managerNamespace = "capv-system"

// counted counts the reads of Secret contents.
type counted struct {
	client.Reader
	reads atomic.Int32
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	c.reads.Add(1)
	return c.Reader.Get(ctx, key, obj, opts...)
}

// newResolver returns a resolver and a store with the objects and the namespaces tenant-one and tenant-two, each labelled with
// its name.
func newResolver(t *testing.T, objects ...client.Object) (*identity.Resolver, client.Client, *counted) {
	t.Helper()
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	for _, name := range []string{"tenant-one", "tenant-two"} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tenant": name}}})
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	secrets := &counted{Reader: c}
	return &identity.Resolver{Cache: c, Secrets: secrets, Namespace: managerNamespace}, c, secrets
}

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	content := map[string][]byte{}
	for key, value := range data {
		content[key] = []byte(value)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1"}, Data: content}
}

func account(username, password string) map[string]string {
	return map[string]string{identity.UsernameKey: username, identity.PasswordKey: password}
}

func clusterIn(namespace string, kind infrav1.VSphereIdentityKind, name string) *infrav1.VSphereCluster {
	return &infrav1.VSphereCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cluster"},
		Spec:       infrav1.VSphereClusterSpec{IdentityRef: infrav1.VSphereIdentityReference{Kind: kind, Name: name}},
	}
}

func TestSecretInClusterNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, _, _ := newResolver(t, secret("tenant-one", "account", account("one", "secret-1")), secret("tenant-two", "account", account("two", "secret-2")))
	for namespace, want := range map[string]identity.Account{
		"tenant-one": {Username: "one", Password: "secret-1"},
		"tenant-two": {Username: "two", Password: "secret-2"},
	} {
		got, err := r.ForCluster(t.Context(), clusterIn(namespace, infrav1.SecretKind, "account"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(want))
	}
}

func TestSecretIsReadOncePerVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, c, secrets := newResolver(t, secret("tenant-one", "account", account("one", "before")))
	cluster := clusterIn("tenant-one", infrav1.SecretKind, "account")
	password := func() string {
		got, err := r.ForCluster(t.Context(), cluster)
		g.Expect(err).NotTo(HaveOccurred())
		return got.Password
	}
	for range 3 {
		g.Expect(password()).To(Equal("before"))
	}
	g.Expect(secrets.reads.Load()).To(BeEquivalentTo(1))

	rotated := secret("tenant-one", "account", account("one", "after"))
	g.Expect(c.Update(t.Context(), rotated)).To(Succeed())
	for range 3 {
		g.Expect(password()).To(Equal("after"))
	}
	g.Expect(secrets.reads.Load()).To(BeEquivalentTo(2))

	g.Expect(c.Delete(t.Context(), rotated)).To(Succeed())
	_, err := r.ForCluster(t.Context(), cluster)
	g.Expect(err).To(MatchError(identity.ErrNotUsable), "what is remembered of a Secret goes with it")
}

func TestUnusableSecret(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]map[string]string{
		"no password":       {identity.UsernameKey: "one"},
		"no username":       {identity.PasswordKey: "s3cret"},
		"an empty password": account("one", ""),
		"other keys":        {"user": "one", "pass": "s3cret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, _, _ := newResolver(t, secret("tenant-one", "account", data))
			_, err := r.ForCluster(t.Context(), clusterIn("tenant-one", infrav1.SecretKind, "account"))
			g.Expect(err).To(MatchError(identity.ErrNotUsable))
			g.Expect(err).To(MatchError(And(ContainSubstring("tenant-one/account"), ContainSubstring("username"), ContainSubstring("password"))))
			g.Expect(err).NotTo(MatchError(ContainSubstring("s3cret")))
		})
	}
}

func TestVSphereClusterIdentity(t *testing.T) {
	t.Parallel()
	tenant := func(name string) *infrav1.AllowedNamespaces {
		return &infrav1.AllowedNamespaces{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"tenant": name}}}
	}
	for name, tc := range map[string]struct {
		allowed *infrav1.AllowedNamespaces
		refusal string
	}{
		"allowed by its label": {tenant("tenant-one"), ""},
		"an empty selector":    {&infrav1.AllowedNamespaces{}, ""},
		"another namespace":    {tenant("tenant-two"), "does not select namespace tenant-one"},
		"no allowedNamespaces": {nil, "does not select namespace tenant-one"},
		"invalid selector":     {&infrav1.AllowedNamespaces{Selector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}, "spec.allowedNamespaces.selector"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, _, secrets := newResolver(t, secret(managerNamespace, "shared", account("one", "s3cret")),
				&infrav1.VSphereClusterIdentity{
					ObjectMeta: metav1.ObjectMeta{Name: "shared"},
					Spec:       infrav1.VSphereClusterIdentitySpec{SecretName: "shared", AllowedNamespaces: tc.allowed},
				})
			got, err := r.ForCluster(t.Context(), clusterIn("tenant-one", infrav1.VSphereClusterIdentityKind, "shared"))
			if tc.refusal == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got.Username).To(Equal("one"))
				g.Expect(got.Password).To(Equal("s3cret"))
				return
			}
			g.Expect(err).To(MatchError(identity.ErrNotUsable))
			g.Expect(err).To(MatchError(ContainSubstring(tc.refusal)))
			g.Expect(secrets.reads.Load()).To(BeZero(), "its Secret is not even looked at")
		})
	}
}

// The Secret of an identity is in the manager's namespace; a Secret with that name in the tenant's namespace must not replace
// it.
func TestIdentitySecretIsInManagerNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, _, _ := newResolver(t, secret("tenant-one", "shared", account("mallory", "x")), &infrav1.VSphereClusterIdentity{
		ObjectMeta: metav1.ObjectMeta{Name: "shared"},
		Spec:       infrav1.VSphereClusterIdentitySpec{SecretName: "shared", AllowedNamespaces: &infrav1.AllowedNamespaces{}},
	})
	_, err := r.ForCluster(t.Context(), clusterIn("tenant-one", infrav1.VSphereClusterIdentityKind, "shared"))
	g.Expect(err).To(MatchError(identity.ErrNotUsable))
	g.Expect(err).To(MatchError(ContainSubstring(managerNamespace + "/shared")))
}

func TestMissingIdentity(t *testing.T) {
	t.Parallel()
	r, _, _ := newResolver(t)
	for kind, says := range map[infrav1.VSphereIdentityKind]string{
		infrav1.SecretKind:                 "Secret tenant-one/missing does not exist",
		infrav1.VSphereClusterIdentityKind: "VSphereClusterIdentity missing does not exist",
		"ConfigMap":                        `"ConfigMap"`,
	} {
		g := NewWithT(t)
		_, err := r.ForCluster(t.Context(), clusterIn("tenant-one", kind, "missing"))
		g.Expect(err).To(MatchError(identity.ErrNotUsable))
		g.Expect(err).To(MatchError(ContainSubstring(says)))
	}
}

func TestAccountServers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		servers []string
		server  string
		allowed bool
	}{
		"bound to none":          {nil, "vc.example.com", true},
		"the one":                {[]string{"vc.example.com"}, "vc.example.com", true},
		"one of two":             {[]string{"a.example.com", "10.0.0.1:8443"}, "10.0.0.1:8443", true},
		"with the default port":  {[]string{"vc.example.com"}, "vc.example.com:443", true},
		"in capital letters":     {[]string{"VC.example.com:443"}, "vc.EXAMPLE.com", true},
		"IPv6 without a port":    {[]string{"[2001:db8::1]:443"}, "2001:db8::1", true},
		"another host":           {[]string{"vc.example.com"}, "mine.example.com", false},
		"another port":           {[]string{"vc.example.com"}, "vc.example.com:8443", false},
		"a longer name":          {[]string{"vc.example.com"}, "vc.example.com.evil.example", false},
		"the same as user info":  {[]string{"vc.example.com"}, "vc.example.com@evil.example", false},
		"the same before a path": {[]string{"vc.example.com"}, "evil.example/vc.example.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, _, _ := newResolver(t, secret(managerNamespace, "shared", account("one", "s3cret")),
				&infrav1.VSphereClusterIdentity{
					ObjectMeta: metav1.ObjectMeta{Name: "shared"},
					Spec: infrav1.VSphereClusterIdentitySpec{
						SecretName: "shared", AllowedNamespaces: &infrav1.AllowedNamespaces{}, Servers: tc.servers,
					},
				})
			got, err := r.ForCluster(t.Context(), clusterIn("tenant-one", infrav1.VSphereClusterIdentityKind, "shared"))
			g.Expect(err).NotTo(HaveOccurred())
			err = got.For(tc.server)
			if tc.allowed {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(identity.ErrNotUsable))
			g.Expect(err).To(MatchError(And(ContainSubstring("VSphereClusterIdentity shared"), ContainSubstring(tc.server), ContainSubstring("spec.server"))))
			g.Expect(err).NotTo(MatchError(ContainSubstring("s3cret")))
		})
	}
}

// A recreated Secret has another resourceVersion and is read anyway. Therefore this one is restored unchanged.
func TestDeletedSecretIsDropped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, with, secrets := newResolver(t, secret("tenant-one", "account", account("one", "s3cret")))
	_, without, _ := newResolver(t)
	cluster := clusterIn("tenant-one", infrav1.SecretKind, "account")
	_, err := r.ForCluster(t.Context(), cluster)
	g.Expect(err).NotTo(HaveOccurred())
	r.Cache = without
	_, err = r.ForCluster(t.Context(), cluster)
	g.Expect(err).To(MatchError(identity.ErrNotUsable))

	before := secrets.reads.Load()
	r.Cache = with
	_, err = r.ForCluster(t.Context(), cluster)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(secrets.reads.Load()).To(Equal(before+1), "its content was read again, not remembered")
}

func TestDeletedSecretIsDroppedWithoutRequest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	stored := secret("tenant-one", "account", account("one", "s3cret"))
	r, _, secrets := newResolver(t, stored)
	kinds := runtime.NewScheme()
	g.Expect(metav1.AddMetaToScheme(kinds)).To(Succeed())
	informers := &informertest.FakeInformers{Scheme: kinds}
	g.Expect(r.WatchSecrets(t.Context(), informers)).To(Succeed())
	meta := &metav1.PartialObjectMetadata{ObjectMeta: stored.ObjectMeta}
	informer, err := informers.FakeInformerFor(t.Context(), meta)
	g.Expect(err).NotTo(HaveOccurred())
	for reads := range 2 {
		_, err := r.ForCluster(t.Context(), clusterIn("tenant-one", infrav1.SecretKind, "account"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(secrets.reads.Load()).To(BeEquivalentTo(reads+1), "its content was read, not remembered")
		informer.Delete(meta)
	}
}
