// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// testUpstreamManifests verifies that every manifest of upstream's documentation, templates and tests is accepted, stored, and accepted
// again.
func testUpstreamManifests(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "..", "shared", "upstream", "harvester", "manifests", "*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	if len(files) == 0 {
		t.Run("skipped, because ../shared/upstream does not exist", func(t *testing.T) { t.Skip() })
		return
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, manifest := range rulestest.Manifests(t, file) {
				NewWithT(t).Expect(api.Accepts(t.Context(), t, manifest)).To(Succeed(), "%s %s", manifest.GetKind(), manifest.GetName())
			}
		})
	}
}

// testOurTemplates verifies that the output of the templates is accepted unchanged.
func testOurTemplates(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "templates", "harvester", "*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	api.Warnings()
	for _, file := range files {
		for _, manifest := range rulestest.Manifests(t, file) {
			if manifest.GroupVersionKind().GroupVersion() == infrav1.GroupVersion {
				g.Expect(api.Accepts(t.Context(), t, manifest)).To(Succeed(), "%s %s", manifest.GetKind(), manifest.GetName())
			}
		}
	}
	g.Expect(api.Warnings()).To(BeEmpty())
}
