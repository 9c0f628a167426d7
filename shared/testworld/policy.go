// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testworld

import (
	"context"

	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StripAnnotations has a mutating policy remove annotations with the prefix whenever an object of the resource is written in the namespace of
// the example, which is one that could be created there. It returns what takes the policy back. Both wait until the API server does so.
func (u User) StripAnnotations(resource, prefix string, example client.Object) (keep func()) {
	u.T.Helper()
	meta := metav1.ObjectMeta{Name: "strip-" + resource + "-" + example.GetNamespace()}
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.MutatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: example.GetNamespace()}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource}},
			}}},
		},
		Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{
			Expression: "has(object.metadata.annotations) ? object.metadata.annotations.filter(k, k.startsWith('" + prefix + "'))" +
				".map(k, JSONPatch{op: 'remove', path: '/metadata/annotations/' + jsonpatch.escapeKey(k)}) : []",
		}}},
		ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
	}}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: meta.Name}}
	u.Create(policy, binding)
	remove := func() {
		ctx := context.WithoutCancel(u.T.Context())
		for _, o := range []client.Object{binding, policy} {
			u.G.Expect(client.IgnoreNotFound(u.Client.Delete(ctx, o))).To(gomega.Succeed())
		}
	}
	u.T.Cleanup(remove)
	u.strips(prefix, example, true)
	return func() {
		u.T.Helper()
		remove()
		u.strips(prefix, example, false)
	}
}

// strips waits until annotations with the prefix are removed, or kept.
func (u User) strips(prefix string, example client.Object, removed bool) {
	u.T.Helper()
	u.G.Eventually(func(g gomega.Gomega) {
		o := example.DeepCopyObject().(client.Object)
		o.SetName("")
		o.SetGenerateName("example-")
		o.SetAnnotations(map[string]string{prefix + "example": ""})
		g.Expect(u.Client.Create(u.T.Context(), o, client.DryRunAll)).To(gomega.Succeed())
		_, kept := o.GetAnnotations()[prefix+"example"]
		g.Expect(kept).NotTo(gomega.Equal(removed))
	}).Should(gomega.Succeed())
}
