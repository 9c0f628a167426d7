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
	// pages has the pages by file.
	pages map[string]page
	// images has the images that pages show, by file.
	images map[string]bool
}

func newLinks(root, version string, pages []page) *links {
	l := &links{root: root, version: version, pages: map[string]page{}, images: map[string]bool{}}
	for _, p := range pages {
		if p.File != "" {
			l.pages[p.File] = p
		}
	}
	return l
}

// rewrite returns the text of a page with links that work on the site: to other pages by their address there, to images by that of their
// copy, and to other files of the repository by that of the source. A link to no file is an error; check verifies anchors.
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
	if anchor != "" {
		anchor = "#" + anchor
	}
	switch {
	case isPage && to.File == from.File:
		return anchor, nil
	case isPage:
		return up(from) + to.Path + "/" + anchor, nil
	}
	return l.inRepository(from, file, anchor)
}

// inRepository returns the address of a file without a page: on the site for an image, else in the repository.
func (l *links) inRepository(from page, file, anchor string) (string, error) {
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
	return repository + "/blob/" + l.version + "/" + file + anchor, nil
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

// anchorOf returns the anchor of a heading, as Hugo and GitHub form it, without the number that makes it unique on its page.
func anchorOf(heading string) string {
	words := regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(heading, "")
	return strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(words), ""), " ", "-")
}
