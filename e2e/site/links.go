// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	// repository is the address of the source.
	repository = "https://github.com/faultline-io/faultline"
	// fence matches a block of code.
	fence = "(?ms:^[ \t]*```.*?^[ \t]*```[ \t]*$)"
)

// links rewrites the links of pages.
type links struct {
	root, version string
	// pages has the pages by file, anchors the anchors of each.
	pages   map[string]page
	anchors map[string]map[string]bool
	// images has the images that pages show, by file.
	images map[string]bool
}

func newLinks(root, version string, pages []page) *links {
	l := &links{root: root, version: version, pages: map[string]page{}, anchors: map[string]map[string]bool{}, images: map[string]bool{}}
	for _, p := range pages {
		if p.File != "" {
			l.pages[p.File] = p
			l.anchors[p.File] = anchors(p.Text)
		}
	}
	return l
}

// rewrite returns the text of a page with links that work on the site: to other pages by their address there, to images by that of their
// copy, and to other files of the repository by that of the source. A link to nothing is an error.
func (l *links) rewrite(p page) (string, error) {
	var errs []error
	text := regexp.MustCompile(fence+"|`[^`\n]+(?:\n[^`\n]+)*`|\\]\\(([^)\\s]+)\\)").ReplaceAllStringFunc(p.Text, func(found string) string {
		target, isLink := strings.CutPrefix(found, "](")
		if !isLink || p.File == "" {
			return found
		}
		rewritten, err := l.target(p, strings.TrimSuffix(target, ")"))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s links to %s: %w", p.File, strings.TrimSuffix(target, ")"), err))
		}
		return "](" + rewritten + ")"
	})
	return text, errors.Join(errs...)
}

// target returns the address on the site for the target of a link.
func (l *links) target(from page, target string) (string, error) {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return target, nil
	}
	name, anchor, _ := strings.Cut(target, "#")
	file := from.File
	if name != "" {
		file = path.Join(path.Dir(from.File), name)
	}
	to, isPage := l.pages[file]
	if !isPage {
		to, isPage = l.pages[path.Join(file, "README.md")]
	}
	if isPage {
		return l.toPage(from, to, anchor)
	}
	info, err := os.Stat(filepath.Join(l.root, filepath.FromSlash(file)))
	switch {
	case err != nil || strings.HasPrefix(file, "../"):
		return "", errors.New("no such file in the repository")
	case isImage(file):
		l.images[file] = true
		return up(from) + file, nil
	case info.IsDir():
		return repository + "/tree/" + l.version + "/" + file, nil
	}
	address := repository + "/blob/" + l.version + "/" + file
	if anchor != "" {
		address += "#" + anchor
	}
	return address, nil
}

func (l *links) toPage(from, to page, anchor string) (string, error) {
	address := ""
	if to.File != from.File {
		address = up(from) + to.Path + "/"
	}
	if anchor == "" {
		return address, nil
	}
	if !l.anchors[to.File][anchor] {
		return "", fmt.Errorf("%s has no such heading", to.File)
	}
	return address + "#" + anchor, nil
}

// up returns the relative address of the site's root from a page.
func up(from page) string {
	if from.Path == "" {
		return ""
	}
	return strings.Repeat("../", strings.Count(from.Path, "/")+1)
}

func isImage(file string) bool {
	extension := path.Ext(file)
	return extension == ".svg" || extension == ".png"
}

// anchors returns the anchors of the headings of a text, as Hugo and GitHub form them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	text = regexp.MustCompile(fence).ReplaceAllString(text, "")
	for _, found := range regexp.MustCompile(`(?m)^#+ +(.*)$`).FindAllStringSubmatch(text, -1) {
		name := anchorOf(found[1])
		unique := name
		for i := 1; all[unique]; i++ {
			unique = fmt.Sprintf("%s-%d", name, i)
		}
		all[unique] = true
	}
	return all
}

// anchorOf returns the anchor of a heading, without the number that makes it unique on its page.
func anchorOf(heading string) string {
	words := regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(heading, "")
	return strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(words), ""), " ", "-")
}
