// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

func TestNodeEnqueuesMachineByVirtualMachineName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := func(namespace, name string) *infrav1.HarvesterMachine {
		return &infrav1.HarvesterMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	apart := machine("ns", "apart")
	apart.Annotations = map[string]string{infrav1.VirtualMachineNameAnnotation: "apart-0a1b2c3d"}
	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithIndex(&infrav1.HarvesterMachine{}, nameIndex, virtualMachineName).
		WithObjects(machine("ns", "m1"), machine("other", "m1"), apart).Build()}
	for node, want := range map[string][]reconcile.Request{
		"m1":             {{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "m1"}}},
		"apart-0a1b2c3d": {{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "apart"}}},
		"apart":          nil,
	} {
		g.Expect(r.machineOfNode("ns")(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})).To(Equal(want), node)
	}
}
