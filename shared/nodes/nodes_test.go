// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/faultline-io/faultline/shared/nodes"
)

func TestInitialize(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	others := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}, others}}}
	g.Expect(nodes.Uninitialized(node)).To(BeTrue())
	nodes.Initialize(node)
	g.Expect(nodes.Uninitialized(node)).To(BeFalse())
	g.Expect(node.Spec.Taints).To(ConsistOf(others))
}
