// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
)

const root = "../.."

// apart lists the Markdown files that are not on the site, with the reason.
var apart = map[string]string{}

func TestEveryPageIsInTheMenu(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := load(root, nil)
	g.Expect(err).NotTo(HaveOccurred())
	listed := map[string]bool{}
	for _, p := range pages {
		g.Expect(p.File == "" || !listed[p.File]).To(BeTrue(), "%s is in the menu twice", p.File)
		listed[p.File] = true
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "out"):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		file, err := filepath.Rel(root, path)
		if apart[file] == "" {
			g.Expect(listed).To(HaveKey(filepath.ToSlash(file)), "add it to the menu of e2e/site, or to apart with the reason")
		}
		return err
	})
	g.Expect(err).NotTo(HaveOccurred())
}

func TestEveryPageHasTitleAndPlace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := load(root, map[string]string{"flags.md": "# Flags\n\nSee [install](install.md).\n"})
	g.Expect(err).NotTo(HaveOccurred())
	files, err := Site{Root: root, Version: "v2.0.0"}.render(pages)
	g.Expect(err).NotTo(HaveOccurred(), "every link leads to a page or a file that exists")
	g.Expect(files).To(HaveKey("content/reference/flags.md"))
	g.Expect(string(files["content/reference/_index.md"])).To(ContainSubstring("\n- [Flags](flags/)\n- [Benchmarks](benchmarks/)\n"))
	names := map[string]string{}
	for _, p := range pages {
		text, known := files[p.source(pages)]
		g.Expect(known).To(BeTrue(), p.Path)
		var front struct {
			Title, LinkTitle string
			Weight           int
		}
		g.Expect(json.NewDecoder(strings.NewReader(string(text))).Decode(&front)).To(Succeed(), p.Path)
		g.Expect(front.Title).NotTo(BeEmpty(), p.Path)
		g.Expect(front.LinkTitle).NotTo(BeEmpty(), p.Path)
		g.Expect(front.Weight).To(BeNumerically(">", 0), p.Path)
		name := filepath.Dir(p.Path) + "/" + p.Name
		g.Expect(names).NotTo(HaveKey(name), "%s and %s have the same name in the menu", p.Path, names[name])
		names[name] = p.Path
		g.Expect(len(p.Name)).To(BeNumerically("<=", 70), p.Path)
	}
}

// repositoryOf returns a repository with a few files.
func repositoryOf(t *testing.T) (string, []page) {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	for name, text := range map[string]string{"docs/images/a.svg": "<svg/>", "shared/doc.go": "package shared"} {
		file := filepath.Join(folder, name)
		g.Expect(os.MkdirAll(filepath.Dir(file), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	}
	return folder, []page{
		{entry: entry{"", "docs/README.md", "Introduction"}, Title: "Faultline"},
		{entry: entry{"install", "docs/install.md", ""}, Title: "Install", Text: "## Two words, `code`\n\n## Again\n\n## Again\n"},
		{entry: entry{"contribute/decisions", "docs/decisions/README.md", ""}, Title: "Decisions"},
	}
}

func TestLinksWorkOnTheSite(t *testing.T) {
	t.Parallel()
	folder, pages := repositoryOf(t)
	for _, test := range []struct{ from, link, want string }{
		{"docs/decisions/README.md", "[a](../install.md)", "[a](../../install/)"},
		{"docs/decisions/README.md", "[a](../install.md#two-words-code)", "[a](../../install/#two-words-code)"},
		{"docs/decisions/README.md", "[a](../install.md#again-1)", "[a](../../install/#again-1)"},
		{"docs/decisions/README.md", "![a](../images/a.svg)", "![a](../../docs/images/a.svg)"},
		{"docs/install.md", "[a](#again)", "[a](#again)"},
		{"docs/install.md", "[a](decisions)", "[a](../contribute/decisions/)"},
		{"docs/install.md", "[a](../shared/doc.go#L1)", "[a](" + repository + "/blob/v2.0.0/shared/doc.go#L1)"},
		{"docs/install.md", "[a](../shared)", "[a](" + repository + "/tree/v2.0.0/shared)"},
		{"docs/install.md", "[a](https://example.com/a.md)", "[a](https://example.com/a.md)"},
		{"docs/install.md", "`[a](b.md)`\n\n```sh\n[a](b.md)\n```\n", "`[a](b.md)`\n\n```sh\n[a](b.md)\n```\n"},
		{"docs/install.md", "- a\n\n  ```sh\n  [a](b.md)\n  ```\n\nan `a\nb` and [a](../shared)", "- a\n\n  ```sh\n  [a](b.md)\n  ```\n\nan `a\nb` and [a](" + repository + "/tree/v2.0.0/shared)"},
		{"docs/README.md", "[a](install.md), ![b](images/a.svg)", "[a](install/), ![b](docs/images/a.svg)"},
	} {
		g := NewWithT(t)
		links := newLinks(folder, "v2.0.0", pages)
		p := links.pages[test.from]
		p.Text = test.link
		g.Expect(links.rewrite(p)).To(Equal(test.want), test.from)
	}
}

func TestDeadLinksAreRefused(t *testing.T) {
	t.Parallel()
	folder, pages := repositoryOf(t)
	for link, want := range map[string]string{
		"[a](none.md)":               "docs/install.md links to none.md: no such file in the repository",
		"[a](../../none.md)":         "docs/install.md links to ../../none.md: no such file in the repository",
		"[a](none.svg) [b](none.md)": "docs/install.md links to none.svg: no such file in the repository\ndocs/install.md links to none.md: no such file in the repository",
	} {
		links := newLinks(folder, "v2.0.0", pages)
		p := links.pages["docs/install.md"]
		p.Text = link
		_, err := links.rewrite(p)
		NewWithT(t).Expect(err).To(MatchError(want))
	}
}

func TestPagesWithoutTitleAndShortcodesAreRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := load(root, map[string]string{"flags.md": "Flags\n"})
	g.Expect(err).To(MatchError(`docs/flags.md: the first line must be the title, as in "# Title"`))
	_, err = Site{Root: root}.render([]page{{entry: entry{"a", "docs/a.md", "A"}, Title: "A", Text: "{{< pdf >}}"}})
	g.Expect(err).To(MatchError("docs/a.md contains a shortcode of Hugo, which it does not show as text"))
}

func TestBuiltSiteWithDeadLinksIsRefused(t *testing.T) {
	t.Parallel()
	built := func(link string) fstest.MapFS {
		return fstest.MapFS{
			"index.html":            {Data: []byte(`<a href="/v2/install/">`)},
			"install/index.html":    {Data: []byte(`<h2 id="again"></h2><a href="../` + link + `"><a href="#again"><img src="https://example.com/a">`)},
			"docs/images/a.svg":     {},
			"concepts/a/index.html": {},
		}
	}
	for link, want := range map[string]string{
		"": "", "concepts/a/": "", "install/#again": "", "docs/images/a.svg": "", "concepts/a": "concepts/a, which",
		"none/": "none/, which", "install/#none": "install/#none, which", "concepts/": "concepts/, which",
	} {
		g := NewWithT(t)
		err := check(built(link), "/v2/")
		if want == "" {
			g.Expect(err).NotTo(HaveOccurred(), link)
			continue
		}
		g.Expect(err).To(MatchError("install/index.html links to ../" + want + " does not exist"))
	}
	NewWithT(t).Expect(check(fstest.MapFS{}, "/")).To(MatchError(ContainSubstring("hugo wrote no page")))
	NewWithT(t).Expect(check(fstest.MapFS{"a.html": {Data: []byte(`<a href="/elsewhere/">`)}}, "/v2/")).NotTo(Succeed())
}

func TestWarningsOfHugoAreErrors(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(warnings("Total in 1 ms\nWARN  deprecated: .Site.Data was deprecated\n")).To(Succeed())
	g.Expect(warnings("WARN  Raw HTML omitted while rendering a.md\n")).To(MatchError("WARN  Raw HTML omitted while rendering a.md"))
}

func TestNewestVersionIsShownFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	out, built := t.TempDir(), t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(built, "index.html"), []byte("built"), 0o600)).To(Succeed())
	for _, built := range []string{"main", "v2.10.0", "v2.9.0", "v2.10.0-rc.1"} {
		g.Expect(os.MkdirAll(filepath.Join(out, built), 0o755)).To(Succeed())
	}
	old := filepath.Join(out, "v2.9.0", "removed.html")
	g.Expect(os.WriteFile(old, nil, 0o600)).To(Succeed())
	folder, err := Site{Out: out, Version: "v2.9.0"}.publish(built)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(old).NotTo(BeAnExistingFile())
	g.Expect(os.ReadFile(filepath.Join(folder, "index.html"))).To(BeEquivalentTo("built"))
	g.Expect(os.ReadFile(filepath.Join(out, "versions.json"))).To(MatchJSON(`["v2.10.0", "v2.10.0-rc.1", "v2.9.0", "main"]`))
	g.Expect(os.ReadFile(filepath.Join(out, "index.html"))).To(ContainSubstring("url=v2.10.0/"))
}
