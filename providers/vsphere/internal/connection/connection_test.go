// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/identity"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

const server = "vcenter.example.com"

// sessions records the requested endpoints, and rejects some accounts.
type sessions struct {
	requested []vcenter.Endpoint
	refused   map[string]error
}

func (s *sessions) Session(endpoint vcenter.Endpoint) (*vcenter.Session, error) {
	s.requested = append(s.requested, endpoint)
	if err := s.refused[endpoint.Username]; err != nil {
		return nil, err
	}
	return &vcenter.Session{}, nil
}

func (s *sessions) users() []string {
	var users []string
	for _, endpoint := range s.requested {
		users = append(users, endpoint.Username)
	}
	return users
}

// newDialer returns a dialer for the clusters, each with an account with its own name, the manager's account "manager", and
// VSphereClusterIdentity "zones" with an account of that name.
func newDialer(t *testing.T, clusters ...*infrav1.VSphereCluster) (*connection.Dialer, *sessions) {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	var objects []client.Object
	for _, cluster := range clusters {
		cluster.Namespace = "default"
		cluster.Spec.IdentityRef = infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: cluster.Name}
		objects = append(objects, cluster, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: cluster.Name},
			Data:       map[string][]byte{"username": []byte(cluster.Name), "password": []byte("x")},
		})
	}
	objects = append(objects, &infrav1.VSphereClusterIdentity{
		ObjectMeta: metav1.ObjectMeta{Name: "zones"}, Spec: infrav1.VSphereClusterIdentitySpec{SecretName: "zones"},
	}, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "zones"}, Data: map[string][]byte{"username": []byte("zones"), "password": []byte("x")},
	})
	file := filepath.Join(t.TempDir(), "credentials.yaml")
	g.Expect(os.WriteFile(file, []byte("username: manager\npassword: x\n"), 0o600)).To(Succeed())
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	opened := &sessions{refused: map[string]error{}}
	return &connection.Dialer{
		Client: c, Sessions: opened,
		Identities: &identity.Resolver{Cache: c, Secrets: c, Namespace: "default", Default: &identity.File{Path: file}},
	}, opened
}

// newCluster returns a cluster that selects zones of a tenant. Older clusters take precedence.
func newCluster(name, tenant string, age time.Duration) *infrav1.VSphereCluster {
	cluster := &infrav1.VSphereCluster{Spec: infrav1.VSphereClusterSpec{Server: server, Thumbprint: "of " + name}}
	cluster.Name = name
	cluster.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-age))
	if tenant != "" {
		cluster.Spec.FailureDomainSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": tenant}}
	}
	return cluster
}

func newZone(tenant string) *infrav1.VSphereDeploymentZone {
	zone := &infrav1.VSphereDeploymentZone{Spec: infrav1.VSphereDeploymentZoneSpec{Server: server}}
	zone.Name, zone.Labels = "zone", map[string]string{"tenant": tenant}
	return zone
}

// A wait must end by an event; a failure of the API server has none.
func TestAPIServerErrorIsRetried(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(connection.Waits(errors.New("reading Secret default/account: etcd is full"))).To(BeFalse())
}

func TestConditionOfSessionErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		status metav1.ConditionStatus
		reason string
		waits  bool
	}{
		"none":         {nil, metav1.ConditionTrue, infrav1.VSphereClusterVCenterAvailableReason, false},
		"unauthorized": {vcenter.ErrUnauthorized, metav1.ConditionFalse, infrav1.CredentialsInvalidReason, true},
		"no identity":  {identity.ErrNotUsable, metav1.ConditionFalse, infrav1.CredentialsInvalidReason, true},
		"certificate":  {vcenter.ErrUntrusted, metav1.ConditionFalse, infrav1.CertificateNotTrustedReason, true},
		"thumbprint":   {vcenter.ErrThumbprint, metav1.ConditionFalse, infrav1.ThumbprintMismatchReason, true},
		"connecting":   {vcenter.ErrConnecting, metav1.ConditionUnknown, infrav1.VCenterConnectingReason, true},
		"unreachable":  {vcenter.ErrUnreachable, metav1.ConditionFalse, infrav1.VCenterUnreachableReason, true},
		"busy":         {vcenter.ErrUnavailable, metav1.ConditionFalse, infrav1.VCenterUnreachableReason, false},
		"the worst of several": {
			errors.Join(vcenter.ErrConnecting, vcenter.ErrUnauthorized), metav1.ConditionFalse, infrav1.CredentialsInvalidReason, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			err := tc.err
			if err != nil {
				err = fmt.Errorf("logging in to %s: %w", server, err)
			}
			got := connection.Condition(err)
			g.Expect(got.Type).To(Equal(infrav1.VSphereClusterVCenterAvailableCondition))
			g.Expect(got.Status).To(Equal(tc.status))
			g.Expect(got.Reason).To(Equal(tc.reason))
			if err != nil {
				g.Expect(got.Message).To(ContainSubstring(server))
			}
			g.Expect(connection.Waits(err)).To(Equal(tc.waits))
		})
	}
}

// Only the conditions of an object are normalized when it is written, not those of its servers and zones.
func TestConditionMessageIsSteadyAndBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	attempt := func(port int) string {
		return connection.Condition(fmt.Errorf("%w: read tcp 10.0.0.5:%d->10.0.0.9:443: connection reset by peer", vcenter.ErrUnreachable, port)).Message
	}
	g.Expect(attempt(43210)).To(And(Equal(attempt(43211)), HaveSuffix("read tcp: connection reset by peer")))
	long := connection.Condition(fmt.Errorf("%w: %s", vcenter.ErrUnreachable, strings.Repeat("x", 100_000)))
	g.Expect(long.Message).To(And(HaveLen(4096), HaveSuffix("...")))
}

// A machine uses the account of its zone if the cluster's does not apply, and only if the identity allows the cluster's
// namespace: naming a zone must not give a user access to its account.
func TestMachineAccount(t *testing.T) {
	t.Parallel()
	const other = "other.example.com"
	allowed := &infrav1.AllowedNamespaces{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "one"}}}
	forbidden := &infrav1.AllowedNamespaces{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "two"}}}
	for name, tc := range map[string]struct {
		server   string
		identity *infrav1.AllowedNamespaces
		ref      bool
		want     string
	}{
		"on the cluster's server":                 {server, allowed, true, "one"},
		"on another, with the zone's":             {other, allowed, true, "zones"},
		"on another, the zone's is not for it":    {other, forbidden, true, "one"},
		"on another, without the zone's":          {other, nil, true, "one"},
		"on another, and the zone has no account": {other, nil, false, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d, opened := newDialer(t, newCluster("one", "one", time.Hour))
			c := d.Client.(client.Client)
			g.Expect(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"tenant": "one"}}})).To(Succeed())
			account := &infrav1.VSphereClusterIdentity{}
			g.Expect(c.Get(t.Context(), client.ObjectKey{Name: "zones"}, account)).To(Succeed())
			account.Spec.AllowedNamespaces = tc.identity
			g.Expect(c.Update(t.Context(), account)).To(Succeed())
			zone := newZone("one")
			zone.Spec.Server = tc.server
			if tc.ref {
				zone.Spec.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: "zones"}
			}
			g.Expect(c.Create(t.Context(), zone)).To(Succeed())
			cluster := &infrav1.VSphereCluster{}
			g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "one"}, cluster)).To(Succeed())

			vm := &infrav1.VSphereVM{}
			vm.Spec.Server, vm.Spec.Placement.FailureDomain = tc.server, zone.Name
			_, err := d.ForVM(t.Context(), cluster, vm)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(opened.users()).To(Equal([]string{tc.want}))
		})
	}
}

func TestServerSpellingsShareSession(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := newCluster("one", "", 0)
	d, opened := newDialer(t, cluster)
	spellings := []string{"vc.example.com", "VC.example.com", "vc.example.com:443", "https://vc.example.com/sdk"}
	for _, spelling := range spellings {
		cluster.Spec.Server = spelling
		_, err := d.ForCluster(t.Context(), cluster)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(opened.requested).To(HaveLen(len(spellings)))
	for _, asked := range opened.requested {
		g.Expect(asked).To(Equal(opened.requested[0]))
		g.Expect(asked.Server).To(Equal("vc.example.com"), "as most write it, so that metrics are called as before")
		g.Expect(asked.Tenant).To(Equal("default"))
	}
}

func TestInvalidServerIsNotContacted(t *testing.T) {
	t.Parallel()
	for _, spelling := range []string{
		"https://http://vc.example.com", "http://vc.example.com", "vc.example.com:443@evil.example", "https://vc.example.com/ui", "fe80::1%@evil.example", " ",
	} {
		g := NewWithT(t)
		cluster := newCluster("one", "", 0)
		cluster.Spec.Server = spelling
		d, opened := newDialer(t, cluster)
		_, err := d.ForCluster(t.Context(), cluster)
		g.Expect(err).To(MatchError(ContainSubstring("correct spec.server")), spelling)
		g.Expect(connection.Condition(err).Reason).To(Equal(infrav1.VCenterUnreachableReason))
		g.Expect(connection.Waits(err)).To(BeTrue())
		vm := &infrav1.VSphereVM{}
		vm.Spec.Server = spelling
		_, err = d.ForVM(t.Context(), cluster, vm)
		g.Expect(err).To(MatchError(ContainSubstring("correct spec.server")), spelling)
		g.Expect(opened.requested).To(BeEmpty(), spelling)
	}
}

func TestTooManySessionsIsReportedAndRetried(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := newCluster("one", "", 0)
	d, opened := newDialer(t, cluster)
	opened.refused["one"] = fmt.Errorf("%w: so it is", vcenter.ErrTooMany)
	_, err := d.ForCluster(t.Context(), cluster)
	g.Expect(connection.Condition(err).Reason).To(Equal(infrav1.TooManySessionsReason))
	g.Expect(connection.Waits(err)).To(BeTrue())
	g.Expect(connection.RetryAfter(err)).To(BeNumerically(">", 0))
}
