// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// probe is an annotation that shows whether a policy is in force.
const probe = "example.com/probe"

// Strip creates a mutating admission policy that removes annotations, labels and finalizers with one of the prefixes, and owner
// references whose kind and name have one, from objects of the kind of the example, in its namespace. The example must exist or
// be valid to create. Strip returns when the policy is in force, and keep when it no longer is.
func (u User) Strip(example client.Object, prefixes ...string) (keep func()) {
	u.T.Helper()
	of := func(text string) string {
		var ours []string
		for _, prefix := range append(slices.Clone(prefixes), probe) {
			ours = append(ours, fmt.Sprintf("%s.startsWith('%s')", text, prefix))
		}
		return strings.Join(ours, " || ")
	}
	which := of("k")
	remove := u.mutate(example, "",
		"has(object.metadata.annotations) ? object.metadata.annotations.filter(k, "+which+
			").map(k, JSONPatch{op: 'remove', path: '/metadata/annotations/' + jsonpatch.escapeKey(k)}) : []",
		"has(object.metadata.labels) ? object.metadata.labels.filter(k, "+which+
			").map(k, JSONPatch{op: 'remove', path: '/metadata/labels/' + jsonpatch.escapeKey(k)}) : []",
		"has(object.metadata.finalizers) ? [JSONPatch{op: 'replace', path: '/metadata/finalizers', value: object.metadata.finalizers.filter(k, !("+
			which+"))}] : []",
		"has(object.metadata.ownerReferences) ? [JSONPatch{op: 'replace', path: '/metadata/ownerReferences', "+
			"value: object.metadata.ownerReferences.filter(o, !("+of("(o.kind + ' ' + o.name)")+"))}] : []",
	)
	u.waitForStripped(example, true)
	return func() {
		u.T.Helper()
		remove()
		u.waitForStripped(example, false)
	}
}

// mutate creates a mutating admission policy with JSON patches for the subresource, or for "" the objects, of the kind of the example
// in its namespace, until the test ends or remove is called. It does not wait until the policy is in force.
func (u User) mutate(example client.Object, subresource string, patches ...string) (remove func()) {
	u.T.Helper()
	mapping := u.mapping(example)
	resource := strings.Trim(mapping.Resource.Resource+"/"+subresource, "/")
	name := strings.Trim(example.GetNamespace()+"-"+strings.ReplaceAll(resource, "/", "-"), "-")
	match := &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{mapping.Resource.Group}, APIVersions: []string{"*"}, Resources: []string{resource}},
	}}}}
	if example.GetNamespace() != "" {
		match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: example.GetNamespace()}}
	}
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicySpec{
		MatchConstraints: match, ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
	}}
	for _, expression := range patches {
		policy.Spec.Mutations = append(policy.Spec.Mutations, admissionv1.Mutation{
			PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: expression},
		})
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}
	end := func(ctx context.Context) error {
		if err := u.Client.Delete(ctx, binding); client.IgnoreNotFound(err) != nil {
			return err
		}
		return client.IgnoreNotFound(u.Client.Delete(ctx, policy))
	}
	u.Create(policy, binding)
	u.T.Cleanup(func() { _ = end(context.WithoutCancel(u.T.Context())) })
	return func() {
		u.T.Helper()
		u.G.Expect(end(u.T.Context())).To(gomega.Succeed())
	}
}

// stripStatus creates a mutating admission policy that removes a field of the status, with the given valid value, from the example and
// other objects of its kind in its namespace. It returns when the policy is in force, and keep when it no longer is.
func (u User) stripStatus(example client.Object, field string, value any) (keep func()) {
	u.T.Helper()
	remove := u.mutate(example, "status", fmt.Sprintf("has(object.status) && has(object.status.%[1]s) ? [JSONPatch{op: 'remove', path: '/status/%[1]s'}] : []", field))
	wait := func(stripped bool) {
		u.T.Helper()
		u.G.Eventually(func(g gomega.Gomega) {
			o := u.unstructured(example)
			body, err := json.Marshal(map[string]any{"status": map[string]any{field: value}})
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(u.Client.Status().Patch(u.T.Context(), o, client.RawPatch(types.MergePatchType, body), client.DryRunAll)).To(gomega.Succeed())
			_, kept, _ := unstructured.NestedFieldNoCopy(o.Object, "status", field)
			g.Expect(kept).NotTo(gomega.Equal(stripped))
		}).Should(gomega.Succeed())
	}
	wait(true)
	return func() {
		u.T.Helper()
		remove()
		wait(false)
	}
}

// unstructured returns an object with the kind and name of another.
func (u User) unstructured(of client.Object) *unstructured.Unstructured {
	u.T.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(u.mapping(of).GroupVersionKind)
	o.SetNamespace(of.GetNamespace())
	o.SetName(of.GetName())
	return o
}

// waitForStripped waits until the API server strips, or does not.
func (u User) waitForStripped(example client.Object, stripped bool) {
	u.T.Helper()
	u.G.Eventually(func(g gomega.Gomega) {
		o := example.DeepCopyObject().(client.Object)
		err := u.Client.Get(u.T.Context(), client.ObjectKeyFromObject(example), o)
		if err == nil { // The kind may have rules for names, which an example of another name would break.
			body := []byte(`{"metadata":{"annotations":{"` + probe + `":"` + time.Now().Format(time.RFC3339Nano) + `"}}}`)
			g.Expect(u.Client.Patch(u.T.Context(), o, client.RawPatch(types.MergePatchType, body), client.DryRunAll)).To(gomega.Succeed())
		} else {
			g.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue(), "%v", err)
			o = example.DeepCopyObject().(client.Object)
			o.SetName("")
			o.SetGenerateName("example-")
			o.SetUID("")
			o.SetResourceVersion("")
			o.SetAnnotations(map[string]string{probe: ""})
			g.Expect(u.Client.Create(u.T.Context(), o, client.DryRunAll)).To(gomega.Succeed())
		}
		_, kept := o.GetAnnotations()[probe]
		g.Expect(kept).NotTo(gomega.Equal(stripped))
	}).Should(gomega.Succeed())
}

func (u User) mapping(o client.Object) *meta.RESTMapping {
	u.T.Helper()
	gvk, err := apiutil.GVKForObject(o, u.Client.Scheme())
	u.G.Expect(err).NotTo(gomega.HaveOccurred())
	mapping, err := u.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	u.G.Expect(err).NotTo(gomega.HaveOccurred())
	return mapping
}
