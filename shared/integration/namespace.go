// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NamespaceDeletion is the deletion of a namespace. It simulates the namespace controller, which does not run with an API server
// alone.
type NamespaceDeletion struct {
	user      User
	namespace *corev1.Namespace
	kinds     []schema.GroupVersionKind
}

// DeleteNamespace deletes a namespace and all objects in it, Secrets first. This order is the worst one for controllers that need
// one object to delete another. It returns when nothing can be created in the namespace any more.
func (u User) DeleteNamespace(api *rest.Config, name string) *NamespaceDeletion {
	u.T.Helper()
	d := &NamespaceDeletion{user: u, namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	d.discover(api)
	u.G.Expect(u.Client.Delete(u.T.Context(), d.namespace)).To(gomega.Succeed())
	u.G.Eventually(func() bool {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "probe"}}
		return apierrors.HasStatusCause(u.Client.Create(u.T.Context(), probe, client.DryRunAll), corev1.NamespaceTerminatingCause)
	}).Should(gomega.BeTrue(), "the namespace is being terminated")
	u.G.Expect(d.deleteAll()).To(gomega.Succeed())
	return d
}

// Ends deletes the remaining objects until none is left, and then the namespace.
func (d *NamespaceDeletion) Ends() {
	u := d.user
	u.T.Helper()
	u.G.Eventually(func(g gomega.Gomega) {
		g.Expect(d.deleteAll()).To(gomega.Succeed())
		left, err := d.left()
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(left).To(gomega.BeEmpty())
	}).Should(gomega.Succeed())
	u.G.Expect(u.Client.Get(u.T.Context(), client.ObjectKeyFromObject(d.namespace), d.namespace)).To(gomega.Succeed())
	d.namespace.Spec.Finalizers = nil
	u.G.Expect(u.Client.SubResource("finalize").Update(u.T.Context(), d.namespace)).To(gomega.Succeed())
	u.WaitForDeletion(d.namespace)
}

// discover finds all namespaced kinds.
func (d *NamespaceDeletion) discover(api *rest.Config) {
	u := d.user
	u.T.Helper()
	asking, err := discovery.NewDiscoveryClientForConfig(api)
	u.G.Expect(err).NotTo(gomega.HaveOccurred())
	lists, err := asking.ServerPreferredNamespacedResources()
	u.G.Expect(err).NotTo(gomega.HaveOccurred())
	for _, list := range lists {
		of, err := schema.ParseGroupVersion(list.GroupVersion)
		u.G.Expect(err).NotTo(gomega.HaveOccurred())
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "deletecollection") {
				d.kinds = append(d.kinds, of.WithKind(resource.Kind))
			}
		}
	}
	slices.SortFunc(d.kinds, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.String(), b.String()))
	})
}

// rank returns the order of deletion, the lowest first.
func rank(kind schema.GroupVersionKind) int {
	if kind.Group == corev1.GroupName && kind.Kind == "Secret" {
		return 0
	}
	return 1
}

func (d *NamespaceDeletion) deleteAll() error {
	for _, kind := range d.kinds {
		all := &metav1.PartialObjectMetadata{}
		all.SetGroupVersionKind(kind)
		if err := d.user.Client.DeleteAllOf(d.user.T.Context(), all, client.InNamespace(d.namespace.Name)); err != nil {
			return fmt.Errorf("deleting all of %s: %w", kind, err)
		}
	}
	return nil
}

// left lists the remaining objects, with their finalizers.
func (d *NamespaceDeletion) left() (names []string, _ error) {
	for _, kind := range d.kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := d.user.Client.List(d.user.T.Context(), list, client.InNamespace(d.namespace.Name)); err != nil {
			return nil, fmt.Errorf("listing all of %s: %w", kind, err)
		}
		for _, o := range list.Items {
			names = append(names, fmt.Sprintf("%s %s, kept by %v", kind.Kind, o.Name, o.Finalizers))
		}
	}
	return names, nil
}
