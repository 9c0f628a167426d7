// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// repository is the root folder.
const repository = ".."

// content returns the text of a file of the repository.
func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, file))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// path matches paths that begin with a folder of the root.
	path = regexp.MustCompile("`((?:docs|e2e|providers|shared|templates)/[^`\\s]+)`")
	// noWord matches characters that the anchor of a heading omits.
	noWord = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Pages are split and headings renamed: no link may break.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages := documents(t)
	g.Expect(pages).To(HaveKey(filepath.Join(repository, "README.md")))
	for page, text := range pages {
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(found[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
				_, err := os.Stat(target)
				g.Expect(err).NotTo(HaveOccurred(), "%s links to %s", page, found[1])
			}
			if anchor != "" {
				g.Expect(anchors(pages[target])).To(ContainElement(anchor), "%s links to %s", page, found[1])
			}
		}
	}
}

// The lists of related locations must only name existing paths.
func TestContributingPathsExist(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, page := range []string{"CONTRIBUTING.md", "docs/adding-a-provider.md", "docs/architecture.md", "shared/README.md"} {
		for _, found := range path.FindAllStringSubmatch(fence.ReplaceAllString(content(t, page), ""), -1) {
			if strings.ContainsAny(found[1], "<>") || strings.Contains(found[1], "NAME") {
				continue
			}
			there, err := filepath.Glob(filepath.Join(repository, found[1]))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(there).NotTo(BeEmpty(), "%s names %s", page, found[1])
		}
	}
}

// code matches what is set in code and may be an identifier of Go, with its package if it has one.
var code = regexp.MustCompile("`(?:(?:([a-z]+)\\.)?([A-Z][A-Za-z]*[a-z])|([a-z]+[A-Z][A-Za-z]*))`")

var word = regexp.MustCompile(`\w+`)

// Functions are renamed: the page must not send an author to one that no longer exists.
func TestAddingAProviderNamesIdentifiers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	everywhere := wordsIn(t, []token.Token{token.IDENT}, "shared", "providers", "e2e")
	named := code.FindAllStringSubmatch(fence.ReplaceAllString(content(t, "docs/adding-a-provider.md"), ""), -1)
	g.Expect(len(named)).To(BeNumerically(">", 30))
	for _, found := range named {
		if _, err := os.Stat(filepath.Join(repository, found[2])); found[2] != "" && err == nil { // a file, such as Makefile
			continue
		}
		known := everywhere
		if _, err := os.Stat(filepath.Join(repository, "shared", found[1])); found[1] != "" && err == nil {
			known = wordsIn(t, []token.Token{token.IDENT}, filepath.Join("shared", found[1]))
		}
		g.Expect(known[found[2]+found[3]]).To(BeTrue(), "docs/adding-a-provider.md names %s", found[0])
	}
}

// wordsIn returns the words of some tokens in the Go code of folders and their subfolders.
func wordsIn(t *testing.T, tokens []token.Token, folders ...string) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	for path, text := range goFiles(t, folders...) {
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(path, -1, len(text)), text, nil, 0)
		for _, tok, literal := s.Scan(); tok != token.EOF; _, tok, literal = s.Scan() {
			if slices.Contains(tokens, tok) {
				for _, word := range word.FindAllString(literal, -1) {
					words[word] = true
				}
			}
		}
	}
	return words
}

// goFiles returns the Go files of folders and their subfolders.
func goFiles(t *testing.T, folders ...string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, folder := range folders {
		NewWithT(t).Expect(filepath.WalkDir(filepath.Join(repository, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			files[path], err = os.ReadFile(path)
			return err
		})).To(Succeed())
	}
	return files
}

var (
	// folder matches the folder in which the following commands run.
	folder = regexp.MustCompile(`\bcd ([a-z0-9/-]+)`)
	chosen = regexp.MustCompile(`-run '?([^'\s]+)`)
	test   = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// Documented test commands must run a test: it may have been renamed.
func TestContributingTestsExist(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	looked := 0
	for _, block := range fence.FindAllString(content(t, "CONTRIBUTING.md"), -1) {
		in := ""
		for line := range strings.Lines(block) {
			if found := folder.FindStringSubmatch(line); found != nil {
				in = found[1]
			}
			for _, found := range chosen.FindAllStringSubmatch(line, -1) {
				for pattern := range strings.SplitSeq(found[1], "|") {
					looked++
					name, _, _ := strings.Cut(pattern, "/") // the rest selects a subtest
					g.Expect(strings.Join(testsIn(t, in, strings.Contains(line, "-tags=full")), " ")).To(MatchRegexp(name), "CONTRIBUTING.md: cd %s, %s", in, line)
				}
			}
		}
	}
	g.Expect(looked).To(BeNumerically(">", 10))
}

// testsIn returns the names of the tests of a folder and its subfolders, with those of make test-full only if full.
func testsIn(t *testing.T, folder string, full bool) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(filepath.Join(repository, folder), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		if !full && bytes.Contains(code, []byte("//go:build full")) {
			return err
		}
		for _, found := range test.FindAllSubmatch(code, -1) {
			names = append(names, string(found[1]))
		}
		return err
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return names
}

// reason matches a constant with the reason of a condition. The naming convention is local to that package.
var reason = regexp.MustCompile(`(?m)^\s*reason[A-Z]\w* +(?:\w+ +)?= +"(\w+)"`)

// The reasons of load balancers are defined next to the code that sets them. Those of other kinds are in their API.
func TestLoadBalancerReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, section, _ := strings.Cut(content(t, "docs/troubleshooting.md"), "\n## LoadBalancer and IPPool\n")
	sources, err := filepath.Glob(filepath.Join(repository, "providers", "harvester", "internal", "loadbalancer", "*", "*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	found := 0
	for _, source := range sources {
		code, err := os.ReadFile(source)
		g.Expect(err).NotTo(HaveOccurred())
		for _, match := range reason.FindAllSubmatch(code, -1) {
			found++
			g.Expect(section).To(ContainSubstring("`"+string(match[1])+"`"), "docs/troubleshooting.md on what %s reports", source)
		}
	}
	g.Expect(found).To(BeNumerically(">", 5))
}

// documents returns the text of every Markdown file of the repository by its path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != repository && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "out"):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		pages[path] = string(text)
		return err
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return pages
}

// anchors returns what a link to a part of a page may name.
func anchors(page string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		name := noWord.ReplaceAllString(strings.ToLower(found[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

func TestLayoutListsFolders(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	readme, err := os.ReadFile("README.md")
	g.Expect(err).NotTo(HaveOccurred())
	entries, err := os.ReadDir(".")
	g.Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			g.Expect(string(readme)).To(MatchRegexp("(?m)^\\| [^|]*`" + entry.Name() + "`"))
		}
	}
}
