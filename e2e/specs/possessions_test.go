//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// possession holds what must not change in an object when its cluster moves to another management cluster.
type possession struct {
	Spec          any
	Labels        map[string]string
	Finalizers    []string
	Owners        []string
	FailureDomain any // observed failure domain
}

// kindsOfClusters returns the kinds whose objects make up a cluster, with their summary conditions.
func kindsOfClusters() map[schema.GroupVersionKind]string {
	core := clusterv1.GroupVersion
	kinds := map[schema.GroupVersionKind]string{
		core.WithKind("Cluster"):                                    clusterv1.AvailableCondition,
		core.WithKind("Machine"):                                    clusterv1.AvailableCondition,
		core.WithKind("MachineSet"):                                 "",
		core.WithKind("MachineDeployment"):                          clusterv1.AvailableCondition,
		core.WithKind("MachineHealthCheck"):                         "",
		controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"): clusterv1.AvailableCondition,
		bootstrapv1.GroupVersion.WithKind("KubeadmConfig"):          clusterv1.ReadyCondition,
		bootstrapv1.GroupVersion.WithKind("KubeadmConfigTemplate"):  "",
	}
	maps.Copy(kinds, infra.Kinds)
	return kinds
}

// possessions returns the objects that make up the cluster, including shared ones, by kind and name.
func (c *cluster) possessions(ctx context.Context, g Gomega) map[string]possession {
	found := map[string]possession{}
	for kind := range kindsOfClusters() {
		for _, object := range c.objects(ctx, g, kind) {
			unstructured.RemoveNestedField(object.Object, "spec", "paused")
			domain, _, err := unstructured.NestedFieldNoCopy(object.Object, "status", "failureDomain")
			g.Expect(err).NotTo(HaveOccurred())
			found[kind.Kind+" "+object.GetName()] = possession{
				Spec: object.Object["spec"], Labels: object.GetLabels(),
				Finalizers: slices.Sorted(slices.Values(object.GetFinalizers())), Owners: ownersOf(object), FailureDomain: domain,
			}
		}
	}
	return found
}

// ownersOf returns the owners without their UIDs, which differ in each management cluster.
func ownersOf(object *unstructured.Unstructured) []string {
	var owners []string
	for _, owner := range object.GetOwnerReferences() {
		owners = append(owners, owner.Kind+" "+owner.Name)
	}
	return slices.Sorted(slices.Values(owners))
}

// unshared returns the names of the possessions that belong to only one cluster.
func unshared(possessions map[string]possession) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(possessions)), func(name string) bool {
		kind, _, _ := strings.Cut(name, " ")
		return slices.Contains(infra.Shared, kind)
	})
}

// sharedKinds returns the kinds of the objects that clusters share, in the order of deletion.
func sharedKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, name := range slices.Backward(infra.Shared) {
		for kind := range infra.Kinds {
			if kind.Kind == name {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// expectUnchanged expects all objects of the cluster to be unchanged and healthy.
func (c *cluster) expectUnchanged(ctx context.Context, g Gomega, before map[string]possession) {
	now := c.possessions(ctx, g)
	g.Expect(slices.Sorted(maps.Keys(now))).To(Equal(slices.Sorted(maps.Keys(before))))
	for name, was := range before {
		g.Expect(now[name]).To(Equal(was), name)
	}
	for kind, condition := range kindsOfClusters() {
		if condition == "" {
			continue
		}
		for _, object := range c.objects(ctx, g, kind) {
			has, err := conditions.UnstructuredGet(object, condition)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(has).To(HaveValue(HaveField("Status", BeEquivalentTo("True"))), "%s %s", kind.Kind, object.GetName())
		}
	}
}

// objects returns the objects of a kind that belong to the cluster or are cluster-scoped.
func (c *cluster) objects(ctx context.Context, g Gomega, kind schema.GroupVersionKind) []*unstructured.Unstructured {
	return slices.DeleteFunc(list(ctx, g, kind), func(object *unstructured.Unstructured) bool {
		namespace := object.GetNamespace()
		return namespace != "" && namespace != c.namespace
	})
}

// list returns all objects of a kind; none if the kind does not exist.
func list(ctx context.Context, g Gomega, kind schema.GroupVersionKind) []*unstructured.Unstructured {
	objects := &unstructured.UnstructuredList{}
	objects.SetGroupVersionKind(kind)
	err := management.GetClient().List(ctx, objects)
	if apierrors.IsNotFound(err) {
		return nil
	}
	g.Expect(err).NotTo(HaveOccurred())
	found := make([]*unstructured.Unstructured, 0, len(objects.Items))
	for i := range objects.Items {
		found = append(found, &objects.Items[i])
	}
	return found
}
