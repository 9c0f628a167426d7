// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// The variables are found by their text, and not as clusterctl finds them.
func TestVariablesPageShowsEveryVariableOfEveryTemplate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := variablesPage(sources)
	g.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob(filepath.Join(sources, "templates", "*", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(files)).To(BeNumerically(">", 10))
	shown := map[string]map[string]string{}
	for _, provider := range []string{"vSphere", "Metal3", "Harvester"} {
		for _, row := range cells(section(pages["variables.md"], "## "+provider)) {
			g.Expect(row).NotTo(HaveKey("beyond the header"))
			g.Expect(row["Description"]).NotTo(BeEmpty(), "%s of %s", row["Variable"], provider)
			shown[strings.ToLower(provider)+strings.Trim(row["Variable"], "`")] = row
		}
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		uncommented := regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(string(content), "")
		for _, match := range regexp.MustCompile(`\$\{([A-Z0-9_]+)(?::=([^}]*))?`).FindAllStringSubmatch(uncommented, -1) {
			row := shown[filepath.Base(filepath.Dir(file))+match[1]]
			g.Expect(row).NotTo(BeNil(), "%s of %s", match[1], file)
			g.Expect(row["Default"]).To(ContainSubstring(match[2]), "%s of %s", match[1], file)
			if row["Flavors"] != "all" {
				g.Expect(row["Flavors"]).To(ContainSubstring("`"+flavorOf(file)+"`"), match[1])
			}
		}
	}
	g.Expect(shown["vsphereKUBE_VIP_VERSION"]).To(HaveKeyWithValue("Default", MatchRegexp("^`v[0-9.]+`$")))
}
