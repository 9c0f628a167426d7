// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWithoutClusterOwner(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "m"}
	other := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "VSphereCluster", Name: "c"}
	for _, version := range []string{"v1alpha3", "v1beta1", "v1beta2"} {
		cluster := metav1.OwnerReference{APIVersion: "infrastructure.cluster.x-k8s.io/" + version, Kind: "VSphereCluster", Name: "c"}
		owners := []metav1.OwnerReference{cluster, machine, other}
		g.Expect(withoutCluster(owners)).To(Equal([]metav1.OwnerReference{machine, other}))
		g.Expect(owners).To(HaveLen(3), "what was read is left alone")
	}
	g.Expect(withoutCluster(nil)).To(BeNil())
}
