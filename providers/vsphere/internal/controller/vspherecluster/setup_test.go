// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
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

func TestOnlySecretsThatAClusterKeepsAreItsToRelease(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	secret := &corev1.Secret{}
	secret.OwnerReferences = []metav1.OwnerReference{{Kind: "VSphereCluster", Name: "one"}, {Kind: "Cluster", Name: "two"}}
	g.Expect(keptBy(secret)).To(BeEmpty(), "a kubeconfig, say")
	secret.Finalizers = []string{infrav1.SecretIdentitySetFinalizer}
	g.Expect(keptBy(secret)).To(Equal([]string{"one"}))
}
