// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package managementcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const example = `
apiVersion: v1
kind: Namespace
metadata: {name: example-system}
---
apiVersion: v1
kind: Service
metadata: {name: webhooks, namespace: example-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller-manager, namespace: example-system}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      serviceAccountName: example
      containers:
      - name: sidecar
        args: [--not-this]
      - name: manager
        args: ["--feature=${FEATURE:=off}", "--user=${WHO}"]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: example}
webhooks:
- name: one.example.test
  clientConfig: {service: {name: webhooks, namespace: example-system, path: /one}}
- name: two.example.test
  clientConfig: {service: {name: webhooks, namespace: example-system, path: /two}}
`

func folder(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"all.yaml": content, "kustomization.yaml": "resources: [all.yaml]"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRender(t *testing.T) {
	g := NewWithT(t)
	m, err := render(folder(t, example), map[string]string{"WHO": "somebody"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.args).To(Equal([]string{"--feature=off", "--user=somebody"}))
	g.Expect(m.account.String()).To(Equal("example-system/example"))
	var kinds []string
	for _, object := range m.objects {
		kinds = append(kinds, object.GetKind())
	}
	g.Expect(kinds).To(ConsistOf("Namespace", "ValidatingWebhookConfiguration"))
}

func TestDeploymentForClientsRunsNothing(t *testing.T) {
	g := NewWithT(t)
	m, err := render(folder(t, strings.Replace(example, "args: [--not-this]", "image: registry:5000/sidecar", 1)), map[string]string{"WHO": "somebody"})
	g.Expect(err).NotTo(HaveOccurred())
	idle, err := withoutReplicas(m.deployment, "v1.14.2")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(idle).To(HaveLen(1))
	g.Expect(idle[0].GetKind()).To(Equal("Deployment"))
	replicas, found, _ := unstructured.NestedInt64(idle[0].Object, "spec", "replicas")
	g.Expect(found).To(BeTrue())
	g.Expect(replicas).To(BeZero())
	containers, _, _ := unstructured.NestedSlice(idle[0].Object, "spec", "template", "spec", "containers")
	g.Expect(containers[0]).To(HaveKeyWithValue("image", "registry:5000/sidecar:v1.14.2"))
	g.Expect(containers[1]).To(HaveKeyWithValue("args", HaveLen(2)), "preflight reads them")
}

func TestRenderNamesMissingVariable(t *testing.T) {
	g := NewWithT(t)
	_, err := render(folder(t, example), nil)
	g.Expect(err).To(MatchError(ContainSubstring("WHO")))
	_, err = render(folder(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: example}\n"), nil)
	g.Expect(err).To(MatchError(ContainSubstring("no Deployment")))
	_, err = render(filepath.Join(t.TempDir(), "nowhere"), nil)
	g.Expect(err).To(MatchError(ContainSubstring("nowhere")))
}

func TestRedirect(t *testing.T) {
	g := NewWithT(t)
	objects, err := Decode([]byte(example))
	g.Expect(err).NotTo(HaveOccurred())
	configuration := objects[3]
	g.Expect(redirect(configuration, "127.0.0.1:20001", []byte("CA"))).To(Succeed())
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	g.Expect(err).NotTo(HaveOccurred())
	for i, path := range []string{"/one", "/two"} {
		g.Expect(webhooks[i]).To(HaveKeyWithValue("clientConfig", map[string]any{
			"url": "https://127.0.0.1:20001" + path, "caBundle": "Q0E=",
		}))
	}
	g.Expect(redirect(configuration, "127.0.0.1:20002", nil)).To(MatchError(ContainSubstring("no Service")),
		"what calls an address already cannot be redirected unseen")
}

func TestUntyped(t *testing.T) {
	g := NewWithT(t)
	objects, err := Untyped([]*corev1.ConfigMap{{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "example"}, Data: map[string]string{"key": "value"},
	}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(1))
	g.Expect(objects[0].GetKind()).To(Equal("ConfigMap"))
	g.Expect(objects[0].Object).To(HaveKeyWithValue("data", HaveKeyWithValue("key", "value")))
}
