// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal_test

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline-io/faultline/providers/metal3/internal/refusal"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	secrets, secret := schema.GroupResource{Resource: "secrets"}, schema.GroupKind{Kind: "Secret"}
	terminating := apierrors.NewForbidden(secrets, "s", errors.New("namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		err    error
		wayOut string // "" for what is no refusal
	}{
		"quota":             {apierrors.NewForbidden(secrets, "s", errors.New("exceeded quota: q, limited: count/secrets=1")), "raise the ResourceQuota"},
		"right":             {apierrors.NewForbidden(secrets, "s", errors.New(`User "u" cannot create resource "secrets"`)), "give the service account that right"},
		"policy":            {apierrors.NewInvalid(secret, "s", nil), "change the policy or webhook"},
		"webhook":           {apierrors.NewBadRequest(`admission webhook "w" denied the request: no`), "change the policy or webhook"},
		"webhook that fell": {apierrors.NewInternalError(errors.New(`failed calling webhook "w": connection refused`)), "repair the webhook"},
		"namespace goes":    {terminating, "delete the Machine"},
		"too big":           {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), "change"},
		"wrapped":           {fmt.Errorf("creating: %w", apierrors.NewBadRequest("no")), "change"},
		"conflict":          {apierrors.NewConflict(secrets, "s", errors.New("changed")), ""},
		"exists":            {apierrors.NewAlreadyExists(secrets, "s"), ""},
		"too many":          {apierrors.NewTooManyRequests("later", 1), ""},
		"no such kind":      {apierrors.NewNotFound(secrets, "s"), ""},
		"timeout":           {apierrors.NewTimeoutError("slow", 1), ""},
		"broken":            {apierrors.NewInternalError(errors.New("etcdserver: no leader")), ""},
		"no answer":         {errors.New("connection refused"), ""},
		"none":              {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(refusal.Is(tc.err)).To(Equal(tc.wayOut != ""))
			if tc.wayOut != "" {
				g.Expect(refusal.Message("Secret", "s", tc.err)).To(And(
					HavePrefix("the API server refuses Secret s: "), ContainSubstring(tc.wayOut), Not(ContainSubstring("creating"))))
			}
		})
	}
}
