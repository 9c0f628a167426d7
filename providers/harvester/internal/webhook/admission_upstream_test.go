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
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

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
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
				document, err := reader.Read()
				if errors.Is(err, io.EOF) {
					return
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
				testManifest(t, api, manifest)
			}
		})
	}
}

// testManifest applies a manifest as kubectl does, which sends lists whole, and then on the server. Once the object is there
// neither changes anything.
func testManifest(t *testing.T, api *rulestest.APIServer, manifest *unstructured.Unstructured) {
	t.Helper()
	g, ctx, what := NewWithT(t), t.Context(), manifest.GetKind()+" "+manifest.GetName()
	stored := manifest.DeepCopy()
	g.Expect(api.Create(ctx, stored)).To(Succeed(), what)
	g.Expect(stored.Object["spec"]).To(Equal(manifest.Object["spec"]), what)
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
