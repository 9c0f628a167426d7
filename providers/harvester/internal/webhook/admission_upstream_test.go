// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// testUpstreamManifests wants every manifest of upstream's documentation,
// templates and tests to be accepted, kept, and accepted again.
func testUpstreamManifests(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "..", "shared", "upstream", "harvester", "manifests", "*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	if len(files) == 0 {
		t.Run("left out, as ../shared/upstream is not beside the project", func(t *testing.T) { t.Skip() })
		return
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, manifest := range manifests(t, file) {
				testManifest(t, api, manifest)
			}
		})
	}
}

// testOurTemplates wants what the templates make to be accepted as it is.
func testOurTemplates(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "templates", "harvester", "*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	api.Warnings()
	for _, file := range files {
		for _, manifest := range manifests(t, file) {
			if manifest.GroupVersionKind().GroupVersion() == infrav1.GroupVersion {
				testManifest(t, api, manifest)
			}
		}
	}
	g.Expect(api.Warnings()).To(BeEmpty())
}

// variable is one of a template, with its default.
var variable = regexp.MustCompile(`\$\{(\w+)(?::=([^}]*))?\}`)

// manifests reads a file, with defaults or an example for variables.
func manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	data = variable.ReplaceAllFunc(data, func(use []byte) []byte {
		if parts := variable.FindSubmatch(use); bytes.Contains(use, []byte(":=")) {
			return parts[2]
		}
		if bytes.Contains(use, []byte("ENDPOINT_IP")) {
			return []byte("192.0.2.1")
		}
		return []byte("example")
	})
	var all []*unstructured.Unstructured
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		g.Expect(err).NotTo(HaveOccurred())
		content, err := yaml.YAMLToJSON(document)
		g.Expect(err).NotTo(HaveOccurred())
		if string(content) == "null" { // comments
			continue
		}
		manifest := &unstructured.Unstructured{}
		g.Expect(manifest.UnmarshalJSON(content)).To(Succeed())
		manifest.SetNamespace(metav1.NamespaceDefault)
		all = append(all, manifest)
	}
}

// testManifest applies a manifest as kubectl does, which sends lists whole, and then on the server. Once the object is there
// neither changes anything.
func testManifest(t *testing.T, api *rulestest.APIServer, manifest *unstructured.Unstructured) {
	t.Helper()
	g, ctx, what := NewWithT(t), t.Context(), manifest.GetKind()+" "+manifest.GetName()
	stored := manifest.DeepCopy()
	g.Expect(api.Create(ctx, stored)).To(Succeed(), what)
	g.Expect(missing("spec", manifest.Object["spec"], stored.Object["spec"])).To(BeEmpty(), what)
	data, err := json.Marshal(manifest)
	g.Expect(err).NotTo(HaveOccurred())
	got := manifest.DeepCopy()
	g.Expect(api.Patch(ctx, got, client.RawPatch(types.MergePatchType, data))).To(Succeed(), what)
	for range 2 {
		err := api.Apply(ctx, client.ApplyConfigurationFromUnstructured(manifest.DeepCopy()), client.FieldOwner("gitops"), client.ForceOwnership)
		g.Expect(err).NotTo(HaveOccurred(), what)
	}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(manifest), got)).To(Succeed(), what)
	g.Expect(got.GetGeneration()).To(Equal(stored.GetGeneration()), what)
	g.Expect(api.Delete(ctx, got)).To(Succeed(), what)
}

// missing returns the paths of what is wanted and is not there, or is something else. There may be more.
func missing(path string, want, got any) []string {
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
		paths = append(paths, missing(path+"."+name, fields[name], there[name])...)
	}
	return paths
}
