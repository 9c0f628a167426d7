// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

func TestMachinesOnAFormerServerAreNamed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	of := func(cluster, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}}
	}
	cluster := &infrav1.VSphereCluster{ObjectMeta: of("one", "one")}
	cluster.Spec.Server, cluster.Spec.AdditionalServers = "https://New.example.com", []string{"second.example.com"}
	vm := func(cluster, name, server string) *infrav1.VSphereVM {
		vm := &infrav1.VSphereVM{ObjectMeta: of(cluster, name)}
		vm.Spec.Server = server
		return vm
	}
	moved, second, unset := vm("one", "moved", "new.example.com"), vm("one", "second", "second.example.com"), vm("one", "unset", "")
	b, a, third := vm("one", "b", "old.example.com"), vm("one", "a", "old.example.com"), vm("one", "c", "third.example.com")
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithIndex(cluster, nameIndex, clusterNames).
		WithObjects(cluster, moved, second, unset, b, a, third, vm("two", "other", "old.example.com")).Build()}

	g.Expect(r.onOtherServers(t.Context(), cluster)).To(And(
		ContainSubstring("others than https://New.example.com, second.example.com: old.example.com (a, b), third.example.com (c): "),
		Not(ContainSubstring("moved")), Not(ContainSubstring("unset"))))
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(cluster)}
	g.Expect(r.clusterOnOtherServer(t.Context(), a)).To(ConsistOf(request))
	g.Expect(r.clusterOnOtherServer(t.Context(), second)).To(BeEmpty())

	for _, gone := range []client.Object{a, b, third} {
		g.Expect(r.Client.Delete(t.Context(), gone)).To(Succeed())
	}
	g.Expect(r.onOtherServers(t.Context(), cluster)).To(BeEmpty())
}
