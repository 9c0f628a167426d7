// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
	"github.com/faultline-io/faultline/shared/testenv"
)

// TestAdmission verifies that the API server sends every kind through its webhooks. The rules have their own tests.
func TestAdmission(t *testing.T) {
	api := startAPIServer(t)
	t.Run("Metal3Cluster", func(t *testing.T) { testClusterAdmission(t, api) })
	t.Run("failure domain in use", func(t *testing.T) { testDomainInUse(t, api) })
	t.Run("Metal3ClusterTemplate", func(t *testing.T) { testClusterTemplateAdmission(t, api) })
	t.Run("Metal3Machine", func(t *testing.T) { testMachineAdmission(t, api) })
	t.Run("Metal3MachineTemplate", func(t *testing.T) { testMachineTemplateAdmission(t, api) })
	t.Run("Metal3DataTemplate", func(t *testing.T) { testDataTemplateAdmission(t, api) })
	t.Run("Metal3Data", func(t *testing.T) { testDataAdmission(t, api) })
	t.Run("Metal3DataClaim", func(t *testing.T) { testDataClaimAdmission(t, api) })
	t.Run("Metal3Remediation", func(t *testing.T) { testRemediationAdmission(t, api) })
	t.Run("every field", func(t *testing.T) { api.StoresAsWritten(t.Context(), t, wire, 9) })
	t.Run("objects stored by upstream are applied again unchanged", func(t *testing.T) { testReappliedAfterUpstream(t, api) })
	t.Run("upstream's manifests", func(t *testing.T) { testUpstreamManifests(t, api) })
	t.Run("our templates", func(t *testing.T) { testOurTemplates(t, api) })
	t.Run("objects of v1beta1", func(t *testing.T) { testOlderVersion(t, api) })
	t.Run("zero values", func(t *testing.T) {
		api.StayAsWritten(t, "testdata/zero-values", v1beta1.GroupVersion, infrav1.GroupVersion)
	})
	t.Run("objects that are older than a rule", func(t *testing.T) { testOlderObjects(t, api) })
}

// wire is the folder of objects with all fields set.
var wire = filepath.Join("..", "..", "api", "v1beta2", "testdata")

func startAPIServer(t *testing.T) *rulestest.APIServer {
	t.Helper()
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1beta1.AddToScheme(scheme)).To(Succeed())
	return rulestest.StartAPIServer(t, testenv.Options{
		Scheme: scheme, Config: filepath.Join("..", "..", "config"), Serve: SetupWithManager, Conversion: true,
	})
}

// testOurTemplates verifies that the output of the templates is accepted unchanged.
func testOurTemplates(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "templates", "metal3", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	api.Warnings()
	for _, file := range files {
		for _, manifest := range rulestest.Manifests(t, file) {
			if manifest.GroupVersionKind().GroupVersion() == infrav1.GroupVersion {
				for _, field := range []string{"url", "checksum"} {
					path := []string{"spec", "template", "spec", "image", field}
					if value, _, _ := unstructured.NestedString(manifest.Object, path...); value == "example" {
						g.Expect(unstructured.SetNestedField(manifest.Object, "https://images.example.com/"+field, path...)).To(Succeed())
					}
				}
				g.Expect(api.Accepts(t.Context(), t, manifest)).To(Succeed(), "%s: %s %s", file, manifest.GetKind(), manifest.GetName())
			}
		}
	}
	g.Expect(api.Warnings()).To(BeEmpty())
}
