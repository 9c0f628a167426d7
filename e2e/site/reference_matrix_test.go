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

// The versions are found by the text of the files.
func TestSupportMatrixShowsEveryVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := matrixPage(sources)
	g.Expect(err).NotTo(HaveOccurred())
	page := pages["support-matrix.md"]
	shown := map[string]bool{}
	for _, row := range cells(page) {
		for name, cell := range row {
			g.Expect(cell != "" || name == "Variable").To(BeTrue(), "%s of %v", name, row)
		}
		shown[row["Module"]+row["Program"]+row["Image"]+" "+row["Version"]+row["Default version"]] = true
	}
	modules, err := filepath.Glob(filepath.Join(sources, "providers", "*", "go.mod"))
	g.Expect(err).NotTo(HaveOccurred())
	found := 0
	for _, file := range append(modules, filepath.Join(sources, "shared", "go.mod"), filepath.Join(sources, "kubectl-fd", "go.mod")) {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, match := range regexp.MustCompile(`(?m)^\s((?:k8s|sigs\.k8s|kubevirt)\.io/\S+|github\.com/(?:metal3-io|vmware)/\S+) (v\S+)$`).FindAllStringSubmatch(string(content), -1) {
			found++
			g.Expect(shown).To(HaveKey("`"+match[1]+"` `"+match[2]+"`"), file)
		}
	}
	g.Expect(found).To(BeNumerically(">", 30))
	templates, err := filepath.Glob(filepath.Join(sources, "templates", "*", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	images := 0
	for _, file := range templates {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for line := range strings.Lines(string(content)) {
			_, image, isImage := strings.Cut(strings.TrimSpace(line), "image: ")
			if name, tag, tagged := strings.Cut(image, ":"); isImage && tagged && strings.Contains(name, "/") && !strings.Contains(name, "$") && !strings.HasPrefix(tag, "{{") {
				images++
				_, byDefault, _ := strings.Cut(strings.TrimSuffix(tag, "}"), ":=")
				if byDefault == "" {
					byDefault = tag
				}
				g.Expect(shown).To(HaveKey("`"+name+"` `"+byDefault+"`"), "%s: %s", file, line)
			}
		}
	}
	g.Expect(images).To(BeNumerically(">", 20))
	for _, text := range []string{"| `shared/machines/kubeadm.go` |", "| `shared/machines/rke2.go` |", "| `e2e/binaries` |", "`e2e/build/ipam/go.mod`", "cluster modules | `7` |", "simulated Ironic | `v", "chooses the version of Ironic | `v",
		"simulated Harvester | `v", "does not delete its Node | `1.", "No version of vCenter, ESXi, Ironic, Harvester or Rancher has been tried", "`KUBE_VIP_VERSION`"} {
		g.Expect(page).To(ContainSubstring(text))
	}
}
