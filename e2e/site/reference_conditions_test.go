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

// The constants are found by their text, and not as the page finds them.
func TestConditionsPageShowsEveryConditionAndReasonOfTheCode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := conditionsPage(sources)
	g.Expect(err).NotTo(HaveOccurred())
	page := pages["conditions.md"]
	conditions, reasons := map[string]string{}, map[string]string{}
	for _, row := range cells(page) {
		g.Expect(row).NotTo(HaveKey("beyond the header"))
		g.Expect(row["Description"]).NotTo(BeEmpty(), "%v: the constant has a comment", row)
		if row["Condition"] != "" {
			conditions[strings.Trim(row["Condition"], "`")] = "condition"
		} else {
			reasons[strings.Trim(row["Reason"], "`")] += row["What to do"]
		}
	}
	constant := regexp.MustCompile(`(?m)^\s*(?:const )?(\w+(?:Condition|Reason)|[rR]eason[A-Z]\w*) +(?:\w+ +)?= "(\w+)"$`)
	found := 0
	for _, folder := range []string{"shared", "providers"} {
		g.Expect(filepath.WalkDir(filepath.Join(sources, folder), func(path string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "simulator") || strings.Contains(path, "/test") || strings.Contains(path, "/integration/") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, match := range constant.FindAllStringSubmatch(string(content), -1) {
				found++
				shown := reasons
				if strings.HasSuffix(match[1], "Condition") {
					shown = conditions
				}
				g.Expect(shown).To(HaveKey(match[2]), "%s: %s", path, match[1])
			}
			return err
		})).To(Succeed())
	}
	g.Expect(found).To(BeNumerically(">", 250))
	for _, reason := range []string{"PoolExhausted", "VCenterUnreachable", "FailureDomainNotReady", "SelectorInvalid"} {
		g.Expect(reasons[reason]).To(ContainSubstring("](troubleshooting.md#"), reason)
	}
	g.Expect(section(page, "### Harvester: LoadBalancer")).To(ContainSubstring("[LoadBalancer and IPPool](troubleshooting.md#loadbalancer-and-ippool)"))
	g.Expect(section(page, "### vSphere: VSphereVM")).NotTo(BeEmpty())
}
