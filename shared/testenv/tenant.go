// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Tenant has all permissions in one namespace of the management cluster, and none elsewhere.
type Tenant struct {
	Namespace string
	// Client acts as the tenant.
	Client client.Client
}

// NewTenant creates a namespace and its tenant. c must have all permissions.
func NewTenant(t *testing.T, env *envtest.Environment, c client.Client) Tenant {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenant-"}}
	create(t, c, namespace)
	name := "system:serviceaccount:" + namespace.Name + ":tenant"
	meta := metav1.ObjectMeta{Namespace: namespace.Name, Name: "tenant"}
	all := []string{"*"}
	create(t, c, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: all, Resources: all, Verbs: all}}})
	create(t, c, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})
	user, err := addUser(env, name)
	if err != nil {
		t.Fatal(err)
	}
	as, err := client.New(user.Config(), client.Options{Scheme: c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return Tenant{Namespace: namespace.Name, Client: as}
}

// Meta returns the metadata of an object in the tenant's namespace.
func (n Tenant) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: n.Namespace, Name: name}
}

func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
	}
}
