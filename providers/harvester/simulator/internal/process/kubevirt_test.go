// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package process

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
)

func TestNewKubeVirtNamesMissingProgram(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	folder := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(folder, virtAPI), nil, 0o700)).To(Succeed())
	_, err := NewKubeVirt(Programs{Folder: folder}, t.TempDir())
	g.Expect(err).To(MatchError(And(ContainSubstring("program virt-controller of KubeVirt does not exist"), ContainSubstring(folder))))
}

// manifests packs manifests as virt-operator does.
func manifests(g *WithT, text string) string {
	packed := &bytes.Buffer{}
	writer := gzip.NewWriter(packed)
	_, err := writer.Write([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writer.Close()).To(Succeed())
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

func TestParseManifests(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, err := parseManifests(manifests(g, `
kind: ServiceAccount
metadata: {name: kubevirt-controller, namespace: kubevirt}
---
kind: Role
metadata: {name: monitor, namespace: monitoring}
---
kind: ClusterRole
metadata: {name: kubevirt-controller}
---
kind: CustomResourceDefinition
metadata: {name: virtualmachines.kubevirt.io}
---
kind: Deployment
metadata: {name: virt-api, namespace: kubevirt}
---
kind: ValidatingWebhookConfiguration
metadata: {name: virt-api-validator}
---
kind: MutatingWebhookConfiguration
metadata: {name: virt-api-mutator}
`))
	g.Expect(err).NotTo(HaveOccurred())
	var rights []string
	for _, object := range r.rbac {
		rights = append(rights, object.GetKind())
	}
	g.Expect(rights).To(Equal([]string{"ServiceAccount", "ClusterRole"}))
	g.Expect(r.crds).To(ConsistOf(HaveField("Name", "virtualmachines.kubevirt.io")))
	g.Expect(r.mutating).To(ConsistOf(HaveField("Name", "virt-api-mutator")))
	g.Expect(r.validating).To(ConsistOf(HaveField("Name", "virt-api-validator")))
}

func TestRedirectWebhooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	k := &KubeVirt{certificate: []byte("authority")}
	service := func(name string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Name: name, Path: ptr.To("/validate")}}
	}
	ours, others := service("virt-api"), service("kubevirt-operator-webhook")
	g.Expect(k.redirect(&ours, "https://127.0.0.1:1")).To(BeTrue())
	g.Expect(ours).To(Equal(admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/validate"), CABundle: []byte("authority")}))
	g.Expect(k.redirect(&others, "https://127.0.0.1:1")).To(BeFalse())
}
