// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// check returns an error for each link of a built site that leads to no file or no anchor. prefix is the path of the site's address.
func check(built fs.FS, prefix string) error {
	ids, targets, err := scan(built)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return errors.New("hugo wrote no page")
	}
	var errs []error
	for file, all := range targets {
		for _, target := range all {
			to, anchor := resolve(file, target, prefix)
			known, exists := ids[to]
			if to != "" && (!exists || anchor != "" && !known[anchor]) {
				errs = append(errs, fmt.Errorf("%s links to %s, which does not exist", file, target))
			}
		}
	}
	return errors.Join(errs...)
}

// scan returns the anchors of every file of a built site, and the targets of the links of every page.
func scan(built fs.FS) (ids map[string]map[string]bool, targets map[string][]string, err error) {
	ids, targets = map[string]map[string]bool{}, map[string][]string{}
	err = fs.WalkDir(built, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		ids[file] = map[string]bool{}
		if path.Ext(file) != ".html" {
			return nil
		}
		text, err := fs.ReadFile(built, file)
		for _, found := range regexp.MustCompile(`\sid="?([^"\s>]+)`).FindAllSubmatch(text, -1) {
			ids[file][html.UnescapeString(string(found[1]))] = true
		}
		for _, found := range regexp.MustCompile(`\s(?:href|src)="?([^"\s>]+)`).FindAllSubmatch(text, -1) {
			targets[file] = append(targets[file], html.UnescapeString(string(found[1])))
		}
		return err
	})
	return ids, targets, err
}

// resolve returns the file and the anchor that a link leads to. A link that leaves the site leads to no file.
func resolve(from, target, prefix string) (file, anchor string) {
	parsed, err := (&url.URL{Path: prefix + from}).Parse(target)
	switch {
	case err != nil:
		return target, ""
	case parsed.Scheme != "" || parsed.Host != "":
		return "", ""
	}
	file, inside := strings.CutPrefix(parsed.Path, prefix)
	if !inside {
		return target, ""
	}
	if file == "" || strings.HasSuffix(file, "/") {
		file += "index.html"
	}
	return file, parsed.Fragment
}
