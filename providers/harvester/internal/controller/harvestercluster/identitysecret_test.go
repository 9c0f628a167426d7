// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestFinalizerOfUsedSecret(t *testing.T) {
	const others = "example.com/others"
	in := func(namespace, name string) *infrav1.HarvesterCluster {
		return &infrav1.HarvesterCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       infrav1.HarvesterClusterSpec{IdentitySecret: infrav1.SecretKey{Namespace: "a", Name: "identity"}},
		}
	}
	kept := []string{others, infrav1.IdentitySecretFinalizer}
	for name, tc := range map[string]struct {
		clusters  []client.Object
		allowed   string // namespaces
		deleting  bool
		had, want []string
		namespace string // of the manager
	}{
		"none":          {want: []string{others}, had: []string{others}},
		"one":           {clusters: []client.Object{in("a", "one")}, had: []string{others}, want: kept},
		"one already":   {clusters: []client.Object{in("a", "one")}, had: kept, want: kept},
		"two":           {clusters: []client.Object{in("a", "one"), in("a", "two")}, had: kept, want: kept},
		"none any more": {had: kept, want: []string{others}},
		"none any more of one that is being deleted":    {deleting: true, had: kept, want: []string{others}},
		"one, of one that is being deleted":             {clusters: []client.Object{in("a", "one")}, deleting: true, had: kept, want: kept},
		"one that is too late":                          {clusters: []client.Object{in("a", "one")}, deleting: true, had: []string{others}, want: []string{others}},
		"one of another namespace":                      {clusters: []client.Object{in("b", "one")}, allowed: "b", had: []string{others}, want: kept},
		"one that may not use it":                       {clusters: []client.Object{in("b", "one")}, allowed: "c", had: []string{others}, want: []string{others}},
		"one that may not use it any more":              {clusters: []client.Object{in("b", "one")}, had: kept, want: []string{others}},
		"unknown to the manager of another namespace":   {namespace: "b", had: kept, want: kept},
		"one that the manager of another namespace has": {clusters: []client.Object{in("b", "one")}, allowed: "b", namespace: "b", had: []string{others}, want: []string{others}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
			g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: "a", Name: "identity", Finalizers: tc.had, Annotations: map[string]string{faultlinev1.AllowedNamespacesAnnotation: tc.allowed},
			}}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(tc.clusters, secret)...).
				WithIndex(&infrav1.HarvesterCluster{}, identitySecretIndex, byIdentitySecret).Build()
			if tc.deleting {
				g.Expect(c.Delete(t.Context(), secret)).To(Succeed())
			}
			key := client.ObjectKeyFromObject(secret)
			r := &IdentitySecretReconciler{Client: c, Namespace: tc.namespace}
			g.Expect(r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})).To(BeZero())
			g.Expect(c.Get(t.Context(), key, secret)).To(Succeed())
			g.Expect(secret.Finalizers).To(Equal(tc.want))
		})
	}
}
