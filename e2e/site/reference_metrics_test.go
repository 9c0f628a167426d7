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

// The metrics are found by their names in the code, its comments and install.md, and not as the page finds them.
func TestMetricsPageShowsEveryMetricOfTheCode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := metricsPage(sources)
	g.Expect(err).NotTo(HaveOccurred())
	shown := map[string]map[string]string{}
	for _, row := range cells(pages["metrics.md"]) {
		for _, column := range []string{"Type", "Description", "Exported by"} {
			g.Expect(row[column]).NotTo(BeEmpty(), "%s of %s", column, row["Metric"])
		}
		shown[strings.Trim(row["Metric"], "`")] = row
	}
	name := regexp.MustCompile(`Name: +"([a-z]+_[a-z_]+)", *(?:Help:|\n)|"((?:harvester_load_balancer|capv_)[a-z_]+)"`)
	found := 0
	for _, folder := range []string{"shared", "providers"} {
		g.Expect(filepath.WalkDir(filepath.Join(sources, folder), func(path string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "simulator") {
				return err
			}
			content, err := os.ReadFile(path)
			if strings.Contains(string(content), "prometheus") || strings.Contains(string(content), "Metric = ") {
				for _, match := range name.FindAllStringSubmatch(string(content), -1) {
					found++
					g.Expect(shown).To(HaveKey(match[1]+match[2]), path)
				}
			}
			return err
		})).To(Succeed())
	}
	g.Expect(found).To(BeNumerically(">=", 7))
	install, err := os.ReadFile(filepath.Join(sources, "docs", "install.md"))
	g.Expect(err).NotTo(HaveOccurred())
	documented := regexp.MustCompile("`([a-z_]+)\\{([a-z_,]+)\\}`").FindAllStringSubmatch(string(install), -1)
	g.Expect(len(documented)).To(BeNumerically(">=", 9))
	for _, match := range documented {
		g.Expect(shown).To(HaveKey(match[1]))
		g.Expect(strings.ReplaceAll(strings.ReplaceAll(shown[match[1]]["Labels"], "`", ""), ", ", ",")).To(Equal(match[2]), "labels of %s", match[1])
	}
}
