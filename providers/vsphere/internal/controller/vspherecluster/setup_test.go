// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/publish"
)

func TestClusterIsFoundByNameLabelAndOwner(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := &infrav1.VSphereCluster{}
	cluster.Name = "infra"
	g.Expect(clusterNames(cluster)).To(Equal([]string{"infra"}))
	cluster.Labels = map[string]string{clusterv1.ClusterNameLabel: "cluster"}
	cluster.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: "cluster"}, {Kind: "ClusterClass", Name: "class"}}
	g.Expect(clusterNames(cluster)).To(Equal([]string{"cluster", "infra"}))
}

func TestClusterReleasesOwnSecretsOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	secret := &corev1.Secret{}
	secret.OwnerReferences = []metav1.OwnerReference{{Kind: "VSphereCluster", Name: "one"}, {Kind: "Cluster", Name: "two"}}
	g.Expect(keptBy(secret)).To(BeEmpty(), "a kubeconfig, say")
	secret.Finalizers = []string{infrav1.SecretIdentitySetFinalizer}
	g.Expect(keptBy(secret)).To(Equal([]string{"one"}))
}

// fakeVCenters is a VCenters that is notified of deleted clusters.
type fakeVCenters struct{ VCenters }

func (fakeVCenters) ForgetCluster(client.ObjectKey) {}

func TestDeletedClusterIsDroppedFromModules(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &Reconciler{Domains: &publish.Publisher{}, VCenters: fakeVCenters{}}
	gone, stays := client.ObjectKey{Namespace: "ns", Name: "gone"}, client.ObjectKey{Namespace: "ns", Name: "stays"}
	r.made.Store("module-1", gone)
	r.made.Store("module-2", stays)
	r.made.Store("module-3", gone)
	r.forget(gone)
	var made []any
	r.made.Range(func(module, _ any) bool {
		made = append(made, module)
		return true
	})
	g.Expect(made).To(ConsistOf("module-2"))
}
