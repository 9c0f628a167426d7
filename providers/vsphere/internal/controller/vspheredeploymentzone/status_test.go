// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheredeploymentzone

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

func TestZoneCheckReasonsAreUniqueAndDocumented(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	reasons := map[inventory.ZoneReason]bool{}
	waysOut, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "docs", "troubleshooting.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, check := range inventory.ZoneChecks() {
		g.Expect(reasons).NotTo(HaveKey(check.Reason), "two checks have the same reason")
		reasons[check.Reason] = true
		g.Expect(string(waysOut)).To(ContainSubstring("`"+string(check.Reason)+"`"), "docs/troubleshooting.md does not say what to do about it")
	}
}
