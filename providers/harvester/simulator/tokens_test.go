// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestServiceAccountToken(t *testing.T) {
	s := newFixture(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "guest"}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: "guest-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "guest"},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	s.Expect(s.client.Create(t.Context(), account)).To(Succeed())
	s.Expect(s.client.Create(t.Context(), secret)).To(Succeed())
	s.Eventually(func() map[string][]byte {
		s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
		return secret.Data
	}).Should(HaveKey(corev1.ServiceAccountTokenKey))

	guest, err := client.New(&rest.Config{
		Host: sim.Server(), BearerToken: string(secret.Data[corev1.ServiceAccountTokenKey]),
		TLSClientConfig: rest.TLSClientConfig{CAData: secret.Data[corev1.ServiceAccountRootCAKey]},
	}, client.Options{Scheme: s.client.Scheme()})
	s.Expect(err).NotTo(HaveOccurred())
	err = guest.List(t.Context(), &corev1.NodeList{})
	s.Expect(err).To(MatchError(apierrors.IsForbidden, "is forbidden"))
	s.Expect(err).To(MatchError(ContainSubstring("system:serviceaccount:" + s.namespace + ":guest")))
}
