// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package offline

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// source creates a module with an unreleased chart like cert-manager's, with the CRDs in another folder.
func source(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range map[string]string{
		"deploy/charts/cert-manager/" + unfinished:          "apiVersion: v1\nname: cert-manager\nversion: v0.1.0\nappVersion: v0.1.0\n",
		"deploy/charts/cert-manager/values.yaml":            "installCRDs: false\n",
		"deploy/charts/cert-manager/templates/_helpers.tpl": `{{ define "name" }}cert-manager{{ end }}`,
		"deploy/charts/cert-manager/templates/NOTES.txt":    "thank you",
		"deploy/charts/cert-manager/templates/empty.yaml":   "{{- if not .Values.installCRDs }}kind: Never{{ end }}\n",
		"deploy/charts/cert-manager/templates/manager.yaml": "kind: Deployment\nimage: x:{{ .Chart.AppVersion }}\nnamespace: {{ .Release.Namespace }}\n",
		"deploy/crds/crd-issuers.yaml":                      "kind: CustomResourceDefinition\nname: {{ template \"name\" . }}\n",
		"deploy/crds/README.md":                             "not a CRD",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestManifest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got, err := CertManagerManifest(source(t), "v1.11.5", "v1.36.3")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal(`apiVersion: v1
kind: Namespace
metadata:
  name: cert-manager
---
kind: CustomResourceDefinition
name: cert-manager
---
kind: Deployment
image: x:v1.11.5
namespace: cert-manager
`))
}

func TestManifestNeedsCRDs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := source(t)
	g.Expect(os.Remove(filepath.Join(root, "deploy/crds/crd-issuers.yaml"))).To(Succeed())
	_, err := CertManagerManifest(root, "v1.11.5", "v1.36.3")
	g.Expect(err).To(MatchError(ContainSubstring("no CRDs")))
}
