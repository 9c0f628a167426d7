// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSecretsAreConfinedToNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "h"}}
	config := &Config{
		Image:    &bmov1alpha1.Image{URL: "https://images.example.com/node.qcow2"},
		UserData: &corev1.SecretReference{Namespace: "others", Name: "user"},
		MetaData: &corev1.SecretReference{Namespace: "others", Name: "meta"}, NetworkData: &corev1.SecretReference{Name: "network"},
	}
	config.apply(host)
	g.Expect(host.Spec.UserData).To(Equal(&corev1.SecretReference{Namespace: "tenant", Name: "user"}))
	g.Expect(host.Spec.MetaData).To(Equal(&corev1.SecretReference{Namespace: "tenant", Name: "meta"}))
	g.Expect(host.Spec.NetworkData).To(Equal(&corev1.SecretReference{Namespace: "tenant", Name: "network"}))
}
