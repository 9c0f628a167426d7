// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// refusedOfUpstream lists the fields for which documents of upstream's templates, documentation and end-to-end tests are
// rejected. The list may only shrink.
func refusedOfUpstream() []string {
	return nil
}

// testUpstreamManifests verifies that every manifest of upstream is accepted and preserved in its version, except for
// unsupported fields.
func testUpstreamManifests(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "..", "shared", "upstream", "vsphere", "v1beta*", "*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	if len(files) == 0 {
		t.Run("skipped without ../shared/upstream", func(t *testing.T) { t.Skip() })
		return
	}
	refused := map[string]bool{}
	for _, file := range files {
		version := filepath.Base(filepath.Dir(file))
		t.Run(version+" "+filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			for _, manifest := range rulestest.Manifests(t, file) {
				err := api.Accepts(t.Context(), t, manifest)
				if err == nil {
					continue
				}
				for _, cause := range rulestest.Causes(err) {
					field, isForbidden := strings.CutSuffix(cause, ": Forbidden")
					field = field[strings.LastIndex(field, ".")+1:]
					g.Expect(isForbidden && slices.Contains(refusedOfUpstream(), field)).To(BeTrue(), "%s %s: %v", manifest.GetKind(), manifest.GetName(), err)
					refused[field] = true
				}
				g.Expect(rulestest.Causes(err)).NotTo(BeEmpty(), "%v", err)
			}
		})
	}
	for _, field := range refusedOfUpstream() {
		g.Expect(refused).To(HaveKey(field), "nothing is refused for it any more: take it off the list")
	}
}
