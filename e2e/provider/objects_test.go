// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package provider_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/faultline-io/faultline/e2e/provider"
)

// TestCreateRetriesUnresponsiveWebhook verifies that refused objects are not retried.
func TestCreateRetriesUnresponsiveWebhook(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		tries int
		made  bool
	}{
		"late":    {apierrors.NewInternalError(errors.New("failed calling webhook: context deadline exceeded")), 2, true},
		"refused": {apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "c", errors.New("no")), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, tries := NewWithT(t), 0
			api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
					if tries++; tries == 1 {
						return tc.err
					}
					return c.Create(ctx, o, options...)
				},
			}).Build()
			err := provider.Create(t.Context(), api, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}})
			g.Expect(tries).To(Equal(tc.tries))
			g.Expect(err == nil).To(Equal(tc.made), "%v", err)
		})
	}
}
