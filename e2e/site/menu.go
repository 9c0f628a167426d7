// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a page of the site, or the pages of a folder.
type entry struct {
	// Path is the address on the site. An entry below another is below it in the menu. A * is replaced by the file names that File matches.
	Path string
	// File is the Markdown file in the repository. Without it, the page lists the pages below it.
	File string
	// Name is the name in the menu, by default the title of the page.
	Name string
}

// reference is the address below which the generated pages are.
const reference = "reference"

// menu returns all pages in the order of the menu.
func menu() []entry {
	return []entry{
		{"", "docs/README.md", "Introduction"},
		{"try-it", "README.md", "Try it"},
		{"try-it/demo", "docs/demo.md", ""},
		{"concepts", "", "Concepts"},
		{"concepts/failure-domains", "docs/failure-domains.md", ""},
		{"concepts/multi-tenancy", "docs/security.md", ""},
		{"concepts/glossary", "docs/glossary.md", ""},
		{"install", "docs/install.md", "Install"},
		{"install/gitops", "docs/gitops.md", "Helm and GitOps"},
		{"install/templates", "templates/README.md", ""},
		{"migrate", "docs/migrate-from-upstream.md", "Move from upstream"},
		{"vsphere", "docs/vsphere.md", ""},
		{"vsphere/quick-start", "docs/quick-start-vsphere.md", "Quick start"},
		{"vsphere/provider", "providers/vsphere/README.md", "Provider"},
		{"vsphere/templates", "templates/vsphere/README.md", "Cluster templates"},
		{"vsphere/simulator", "providers/vsphere/simulator/README.md", "Simulator"},
		{"metal3", "docs/metal3.md", ""},
		{"metal3/quick-start", "docs/quick-start-metal3.md", "Quick start"},
		{"metal3/provider", "providers/metal3/README.md", "Provider"},
		{"metal3/templates", "templates/metal3/README.md", "Cluster templates"},
		{"metal3/simulator", "providers/metal3/simulator/README.md", "Simulator"},
		{"harvester", "docs/harvester.md", ""},
		{"harvester/quick-start", "docs/quick-start-harvester.md", "Quick start"},
		{"harvester/provider", "providers/harvester/README.md", "Provider"},
		{"harvester/templates", "templates/harvester/README.md", "Cluster templates"},
		{"harvester/load-balancer", "docs/harvester-load-balancer.md", "Load balancers"},
		{"harvester/load-balancer-chart", "providers/harvester/charts/harvester-load-balancer/README.md", "Load balancer chart"},
		{"harvester/cloud-provider-chart", "providers/harvester/charts/harvester-cloud-provider/README.md", "Cloud provider chart"},
		{"harvester/simulator", "providers/harvester/simulator/README.md", "Simulator"},
		{"operate", "", "Operate"},
		{"operate/runbooks", "docs/operate.md", ""},
		{"operate/kubectl-fd", "docs/kubectl-fd.md", ""},
		{"operate/monitoring", "docs/monitoring/README.md", "Monitoring"},
		{"operate/logs", "docs/logs.md", "Logs"},
		{"troubleshooting", "docs/troubleshooting.md", ""},
		{reference, "", "Reference"},
		{"reference/benchmarks", "docs/benchmarks.md", ""},
		{"reference/changelog", "CHANGELOG.md", ""},
		{"reference/releases", "RELEASE.md", ""},
		{"reference/security", "SECURITY.md", ""},
		{"contribute", "CONTRIBUTING.md", "Contribute"},
		{"contribute/architecture", "docs/architecture.md", ""},
		{"contribute/decisions", "docs/decisions/README.md", ""},
		{"contribute/decisions/*", "docs/decisions/*.md", ""},
		{"contribute/adding-a-provider", "docs/adding-a-provider.md", ""},
		{"contribute/shared", "shared/README.md", "Shared code"},
		{"contribute/e2e", "e2e/README.md", "Tests from outside"},
		{"contribute/e2e/kind", "e2e/kind/README.md", ""},
		{"contribute/e2e/specs", "e2e/specs/README.md", ""},
		{"contribute/e2e/chaos", "e2e/chaos/README.md", ""},
		{"contribute/e2e/rebalancing", "e2e/chaos/REBALANCE.md", "Chaos tests of moves"},
		{"contribute/e2e/takeover", "e2e/takeover/README.md", "Takeover"},
		{"contribute/e2e/operator", "e2e/realoperator/README.md", "Real bare-metal operator"},
		{"contribute/e2e/rke2", "e2e/realrke2/README.md", "Real providers for RKE2"},
		{"contribute/e2e/autoscaler", "e2e/realautoscaler/README.md", "Real cluster autoscaler"},
		{"contribute/governance", "GOVERNANCE.md", ""},
		{"contribute/code-of-conduct", "CODE_OF_CONDUCT.md", ""},
	}
}

// entries returns the menu of the repository at root. Patterns are replaced by the files that they match and no other entry names.
func entries(root string) ([]entry, error) {
	all := menu()
	var expanded []entry
	for _, one := range all {
		if !strings.Contains(one.File, "*") {
			expanded = append(expanded, one)
			continue
		}
		found, err := readSources(root, one.File)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			if !slices.ContainsFunc(all, func(other entry) bool { return other.File == file.path }) {
				address := strings.ReplaceAll(one.Path, "*", strings.TrimSuffix(path.Base(file.path), ".md"))
				expanded = append(expanded, entry{Path: address, File: file.path, Name: one.Name})
			}
		}
	}
	return expanded, nil
}

// page is a page of the site.
type page struct {
	entry
	// Title is the first heading, Text what follows it.
	Title, Text string
	// Weight is its place in the menu.
	Weight int
	// Generated is true if the repository has no file of the page.
	Generated bool
}

// load reads the pages of the menu and those generated, by file name, whose links are relative to docs.
func load(root string, generated map[string]string) ([]page, error) {
	listed, err := entries(root)
	if err != nil {
		return nil, err
	}
	var added []entry
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		added = append(added, entry{Path: reference + "/" + strings.TrimSuffix(name, ".md"), File: "docs/" + name})
	}
	first := slices.IndexFunc(listed, func(one entry) bool { return one.Path == reference }) + 1
	var pages []page
	for i, one := range slices.Insert(listed, first, added...) {
		text, isGenerated := generated[strings.TrimPrefix(one.File, "docs/")]
		p := page{entry: one, Title: one.Name, Weight: i + 1, Generated: isGenerated}
		if one.File != "" && !isGenerated {
			read, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(one.File)))
			if err != nil {
				return nil, err
			}
			text = string(read)
		}
		if one.File != "" {
			if p.Title, p.Text, err = cutTitle(text); err != nil {
				return nil, fmt.Errorf("%s: %w", one.File, err)
			}
		}
		p.Name = cmp.Or(p.Name, p.Title)
		pages = append(pages, p)
	}
	for i := range pages {
		if pages[i].File == "" {
			pages[i].Text = list(pages, pages[i].Path)
		}
	}
	return pages, nil
}

// cutTitle returns the heading in the first line of a page, and what follows.
func cutTitle(text string) (title, rest string, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	title, found := strings.CutPrefix(first, "# ")
	if !found || strings.TrimSpace(title) == "" {
		return "", "", fmt.Errorf("the first line must be the title, as in %q", "# Title")
	}
	return strings.ReplaceAll(strings.TrimSpace(title), "`", ""), strings.TrimSpace(rest) + "\n", nil
}

// list returns links to the pages right below an address.
func list(pages []page, address string) string {
	var b strings.Builder
	for _, p := range pages {
		if p.Path != "" && path.Dir(p.Path) == address {
			fmt.Fprintf(&b, "- [%s](%s/)\n", p.Name, path.Base(p.Path))
		}
	}
	return b.String()
}
