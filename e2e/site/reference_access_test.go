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

func TestAccessPageShowsEveryRuleOfEveryRoleAndEveryPort(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := accessPage(sources)
	g.Expect(err).NotTo(HaveOccurred())
	page := pages["ports-rbac.md"]
	rows := cells(page)
	shown := 0
	for _, row := range rows {
		g.Expect(row).NotTo(HaveKey("beyond the header"))
		if row["Verbs"] != "" {
			shown++
			g.Expect(row["Resources"]).NotTo(BeEmpty())
			g.Expect(row["API groups"]).NotTo(BeEmpty())
		}
	}
	// Each rule, and each of its words, by the text of the files.
	rules, files := 0, 0
	g.Expect(filepath.WalkDir(sources, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." || entry.Name() == "out" || entry.Name() == "rbac" && strings.Contains(path, "/charts/")) {
			return filepath.SkipDir
		}
		if !regexp.MustCompile(`^(role|.*_election_role|diagnostics_role)\.yaml$`).MatchString(entry.Name()) || strings.Contains(path, "/e2e/") {
			return nil
		}
		content, err := os.ReadFile(path)
		files++
		rules += strings.Count(string(content), "verbs:")
		for _, match := range regexp.MustCompile(`(?m)^ *- +([a-z./*-]+)$`).FindAllStringSubmatch(string(content), -1) {
			g.Expect(page).To(ContainSubstring("`"+match[1]+"`"), path)
		}
		return err
	})).To(Succeed())
	g.Expect(files).To(Equal(7))
	g.Expect(shown).To(Equal(rules))
	for _, program := range []string{"vSphere manager", "Metal3 manager", "Harvester manager", "Harvester load balancer", "Harvester cloud provider"} {
		g.Expect(cells(section(page, "## RBAC of the "+program))).NotTo(BeEmpty(), program)
	}
	for _, port := range []string{"9443", "8443", "9440", "10258"} {
		g.Expect(page).To(ContainSubstring("| " + port + " | "))
	}
	g.Expect(page).To(ContainSubstring("`6443/TCP`"))
}
