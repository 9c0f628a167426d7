// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// variable matches a variable of a template, with its default.
var variable = regexp.MustCompile(`\$\{(\w+)(?::=([^}]*))?\}`)

// Manifests reads a file of documents, and replaces variables by their defaults or an example. All objects are put into the
// default namespace.
func Manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	g := gomega.NewWithT(t)
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	data = variable.ReplaceAllFunc(data, func(use []byte) []byte {
		if parts := variable.FindSubmatch(use); bytes.Contains(use, []byte(":=")) {
			return parts[2]
		}
		if bytes.Contains(use, []byte("ENDPOINT_IP")) {
			return []byte("192.0.2.1")
		}
		return []byte("example")
	})
	all := Documents(t, data)
	for _, manifest := range all {
		manifest.SetNamespace(metav1.NamespaceDefault)
	}
	return all
}

// shown matches a manifest on a page.
var shown = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// Shown reads the manifests on a page.
func Shown(t *testing.T, page string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(page)
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	var all []*unstructured.Unstructured
	for _, block := range shown.FindAllSubmatch(text, -1) {
		all = append(all, Documents(t, block[1])...)
	}
	return all
}

// Documents parses documents, without those that contain only comments.
func Documents(t *testing.T, data []byte) []*unstructured.Unstructured {
	t.Helper()
	g := gomega.NewWithT(t)
	var all []*unstructured.Unstructured
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		g.Expect(err).NotTo(gomega.HaveOccurred())
		content, err := yaml.YAMLToJSON(document)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		if string(content) == "null" {
			continue
		}
		manifest := &unstructured.Unstructured{}
		g.Expect(manifest.UnmarshalJSON(content)).To(gomega.Succeed())
		all = append(all, manifest)
	}
}

// Accepts applies a manifest as kubectl does, which replaces lists, and then by server-side apply. It returns the error if it is
// rejected. Otherwise no field may be lost, and applying it again in either way must not change anything.
func (a *APIServer) Accepts(ctx context.Context, t *testing.T, manifest *unstructured.Unstructured) error {
	t.Helper()
	g, what := gomega.NewWithT(t), manifest.GetKind()+" "+manifest.GetName()
	stored := manifest.DeepCopy()
	if err := a.Create(ctx, stored, client.FieldValidation("Strict")); err != nil {
		return err
	}
	g.Expect(Missing("spec", manifest.Object["spec"], stored.Object["spec"])).To(gomega.BeEmpty(), what)
	data, err := json.Marshal(manifest)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	got := manifest.DeepCopy()
	g.Expect(a.Patch(ctx, got, client.RawPatch(types.MergePatchType, data))).To(gomega.Succeed(), what)
	for range 2 {
		err := a.Apply(ctx, client.ApplyConfigurationFromUnstructured(manifest.DeepCopy()), client.FieldOwner("gitops"), client.ForceOwnership)
		g.Expect(err).NotTo(gomega.HaveOccurred(), what)
	}
	g.Expect(a.Get(ctx, client.ObjectKeyFromObject(manifest), got)).To(gomega.Succeed(), what)
	g.Expect(got.GetGeneration()).To(gomega.Equal(stored.GetGeneration()), what)
	g.Expect(a.Delete(ctx, got)).To(gomega.Succeed(), what)
	return nil
}

// Missing returns the paths of fields in want that are missing in got or differ. got may have more fields.
func Missing(path string, want, got any) []string {
	fields, isStruct := want.(map[string]any)
	if !isStruct {
		if reflect.DeepEqual(want, got) {
			return nil
		}
		return []string{path}
	}
	there, _ := got.(map[string]any)
	var paths []string
	for name := range fields {
		paths = append(paths, Missing(path+"."+name, fields[name], there[name])...)
	}
	return paths
}

// StayAsWritten applies manifests of two versions, which are in files with the names of the versions; see staysAsWritten. Fields
// that no manifest has are checked by the CRDs; see zerosOutliveDefaults.
func (a *APIServer) StayAsWritten(t *testing.T, folder string, versions ...schema.GroupVersion) {
	t.Helper()
	g := gomega.NewWithT(t)
	g.Expect(versions).To(gomega.HaveLen(2))
	t.Run("defaults", func(t *testing.T) { a.zerosOutliveDefaults(t, versions...) })
	for i, version := range versions {
		data, err := os.ReadFile(filepath.Join(folder, version.Version+".yaml"))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, manifest := range Documents(t, data) {
			t.Run(version.Version+" "+manifest.GetKind(), func(t *testing.T) {
				gomega.NewWithT(t).Expect(manifest.GroupVersionKind().GroupVersion()).To(gomega.Equal(version))
				a.staysAsWritten(t, manifest, versions[1-i])
			})
		}
	}
}

// staysAsWritten applies a manifest as kubectl does, which computes differences itself, and then by server-side apply. Neither
// may find a difference once the object exists, even after it has been written in the other version.
func (a *APIServer) staysAsWritten(t *testing.T, manifest *unstructured.Unstructured, other schema.GroupVersion) {
	t.Helper()
	g, ctx := gomega.NewWithT(t), t.Context()
	stored := manifest.DeepCopy()
	g.Expect(a.Create(ctx, stored, client.FieldValidation("Strict"))).To(gomega.Succeed())
	generation := stored.GetGeneration()
	unchanged := func() *unstructured.Unstructured {
		live := manifest.DeepCopy()
		g.Expect(a.Get(ctx, client.ObjectKeyFromObject(manifest), live)).To(gomega.Succeed())
		g.Expect(live.GetGeneration()).To(gomega.Equal(generation))
		g.Expect(difference(t, manifest, live)).To(gomega.Equal("{}"))
		return live
	}
	apply := func() *unstructured.Unstructured {
		g.Expect(a.Apply(ctx, client.ApplyConfigurationFromUnstructured(manifest.DeepCopy()), client.FieldOwner("gitops"), client.ForceOwnership)).To(gomega.Succeed())
		return unchanged()
	}
	unchanged()
	once := apply()
	g.Expect(apply().GetResourceVersion()).To(gomega.Equal(once.GetResourceVersion()))

	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(other.WithKind(manifest.GetKind()))
	g.Expect(a.Get(ctx, client.ObjectKeyFromObject(manifest), there)).To(gomega.Succeed())
	there.SetLabels(map[string]string{"written": "in-the-other-version"})
	g.Expect(a.Update(ctx, there)).To(gomega.Succeed())
	generation = there.GetGeneration() // Defaults of the version may change it.
	unchanged()
	apply()
	g.Expect(a.Delete(ctx, stored)).To(gomega.Succeed())
}

// difference returns what kubectl would patch if it applied a manifest again.
func difference(t *testing.T, manifest, live *unstructured.Unstructured) string {
	t.Helper()
	g := gomega.NewWithT(t)
	applied, err := json.Marshal(manifest)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	current, err := json.Marshal(live)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(applied, applied, current)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return string(patch)
}
