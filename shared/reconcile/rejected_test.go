// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/faultline-io/faultline/shared/reconcile"
)

func TestIsRefused(t *testing.T) {
	t.Parallel()
	secrets, secret := schema.GroupResource{Resource: "secrets"}, schema.GroupKind{Kind: "Secret"}
	terminating := apierrors.NewForbidden(secrets, "s", errors.New("namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		err    error
		wayOut string // "" for what is not rejected
	}{
		"quota":                   {apierrors.NewForbidden(secrets, "s", errors.New("exceeded quota: q, limited: count/secrets=1")), "raise the ResourceQuota"},
		"right":                   {apierrors.NewForbidden(secrets, "s", errors.New(`User "u" cannot create resource "secrets"`)), "grant the service account that permission"},
		"policy":                  {apierrors.NewInvalid(secret, "s", nil), "change the policy or webhook"},
		"webhook":                 {apierrors.NewBadRequest(`admission webhook "w" denied the request: no`), "change the policy or webhook"},
		"webhook without service": {apierrors.NewInternalError(errors.New(`failed calling webhook "w": failed to call webhook: Post "https://s.n.svc:443/v?timeout=10s": service "s" not found`)), "repair the webhook"},
		"webhook not trusted":     {apierrors.NewInternalError(errors.New(`failed calling webhook "w": failed to call webhook: Post "https://s.n.svc:443/v": tls: failed to verify certificate: x509: certificate signed by unknown authority`)), "repair the webhook"},
		"namespace goes":          {terminating, "delete the Machine"},
		"too big":                 {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), "change"},
		"wrapped":                 {fmt.Errorf("creating: %w", apierrors.NewBadRequest("no")), "change"},
		"conflict":                {apierrors.NewConflict(secrets, "s", errors.New("changed")), ""},
		"exists":                  {apierrors.NewAlreadyExists(secrets, "s"), ""},
		"too many":                {apierrors.NewTooManyRequests("later", 1), ""},
		"no such kind":            {apierrors.NewNotFound(secrets, "s"), ""},
		"timeout":                 {apierrors.NewTimeoutError("slow", 1), ""},
		"broken":                  {apierrors.NewInternalError(errors.New("etcdserver: no leader")), ""},
		"no answer":               {errors.New("connection refused"), ""},
		"none":                    {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(reconcile.IsRejected(tc.err)).To(Equal(tc.wayOut != ""))
			if tc.wayOut != "" {
				g.Expect(reconcile.RejectedMessage("Secret", "s", tc.err)).To(And(
					HavePrefix("the API server rejects Secret s: "), ContainSubstring(tc.wayOut), Not(ContainSubstring("creating"))))
			}
		})
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var answer error
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return answer },
	})
	create := func(err error) error {
		answer = err
		return reconcile.Create(t.Context(), c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, "Secret")
	}
	secrets := schema.GroupResource{Resource: "secrets"}
	var refused *reconcile.RejectedError
	g.Expect(create(nil)).To(Succeed())
	g.Expect(create(apierrors.NewAlreadyExists(secrets, "s"))).To(Succeed())
	g.Expect(errors.As(create(apierrors.NewForbidden(secrets, "s", errors.New("exceeded quota: q"))), &refused)).To(BeTrue())
	g.Expect(refused.Error()).To(HavePrefix("the API server rejects Secret s: "))
	g.Expect(apierrors.IsForbidden(refused)).To(BeTrue())
	err := create(apierrors.NewTimeoutError("slow", 1))
	g.Expect(errors.As(err, &refused)).To(BeFalse())
	g.Expect(err).To(MatchError(ContainSubstring("creating Secret s: ")))
}

// These are responses of an API server whose webhook was stopped, starting or overloaded.
func TestUnansweredWebhook(t *testing.T) {
	t.Parallel()
	for _, why := range []string{
		`dial tcp 10.96.3.7:443: connect: connection refused`, `no endpoints available for service "baremetal-operator-webhook-service"`,
		`context deadline exceeded`, `dial tcp 10.96.3.7:443: i/o timeout`, `read tcp 10.0.0.1:1->10.96.3.7:443: read: connection reset by peer`, `EOF`,
		`net/http: TLS handshake timeout`, `net/http: request canceled (Client.Timeout exceeded while awaiting headers)`,
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			err := fmt.Errorf("patching: %w", apierrors.NewInternalError(errors.New(
				`failed calling webhook "baremetalhost.metal3.io": failed to call webhook: Post "https://s.n.svc:443/v?timeout=10s": `+why)))
			g.Expect(reconcile.IsRejected(err)).To(BeFalse())
			g.Expect(reconcile.IsTransient(err)).To(BeTrue())
			g.Expect(reconcile.RejectedMessage("BareMetalHost", "h", err)).To(And(
				HavePrefix("the API server cannot call a webhook for BareMetalHost h: "), ContainSubstring("retried"),
				Not(ContainSubstring("refuses")), Not(ContainSubstring("->"))))
			g.Expect((&reconcile.RejectedError{Response: err}).Again()).To(BeNumerically("<", reconcile.RefusedPause))
		})
	}
	g := NewWithT(t)
	g.Expect(reconcile.IsTransient(errors.New("EOF"))).To(BeFalse(), "that is the API server itself")
	g.Expect(reconcile.IsTransient(apierrors.NewBadRequest(`admission webhook "w" denied the request: EOF`))).To(BeFalse())
	g.Expect((&reconcile.RejectedError{Response: apierrors.NewBadRequest("no")}).Again()).To(Equal(reconcile.RefusedPause))
}
