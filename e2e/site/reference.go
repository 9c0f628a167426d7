// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package site builds the documentation site from the Markdown of the repository and from what the code defines.
package site

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Reference returns the reference pages by file name, as Markdown. They are generated from the code below root, and stored nowhere.
func Reference(root string) (map[string]string, error) {
	pages := map[string]string{}
	for _, generate := range generators() {
		generated, err := generate(root)
		if err != nil {
			return nil, fmt.Errorf("generating the reference: %w", err)
		}
		maps.Copy(pages, generated)
	}
	return pages, nil
}

// generators returns the functions that generate the pages from the code below root.
func generators() []func(root string) (map[string]string, error) {
	return []func(root string) (map[string]string, error){apiPages, flagsPage, labelsPage, conditionsPage, variablesPage, metricsPage, accessPage, matrixPage}
}

// source is a file of the repository. Its path is relative to the root, with slashes.
type source struct {
	path    string
	content []byte
}

// readSources reads the files below root that match patterns. A pattern without a * must match.
func readSources(root string, patterns ...string) ([]source, error) {
	var all []source
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 && !strings.Contains(pattern, "*") {
			return nil, fmt.Errorf("finding %s below %s: %w", pattern, root, cmp.Or(err, fs.ErrNotExist))
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				return nil, err
			}
			all = append(all, source{filepath.ToSlash(name), content})
		}
	}
	return all, nil
}

// providers returns the names of the providers: the folders of providers with a manager.
func providers(root string) (names []string) {
	managers, _ := filepath.Glob(filepath.Join(root, "providers", "*", "main.go")) // The pattern is valid.
	for _, file := range managers {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

// title returns the name of a provider as prose spells it.
func title(provider string) string {
	if provider == "vsphere" {
		return "vSphere"
	}
	return strings.ToUpper(provider[:1]) + provider[1:]
}

// table returns a Markdown table. The cells are Markdown already: see text and code.
func table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(header)
	line(strings.Split(strings.Repeat("---,", len(header)-1)+"---", ","))
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// text returns plain text as Markdown on one line, also valid in a cell of a table. Text in backticks stays code.
func text(plain string) string {
	parts := strings.Split(strings.Join(strings.Fields(plain), " "), "`")
	if len(parts)%2 == 0 { // The last backtick closes nothing.
		parts[len(parts)-2] += "'" + parts[len(parts)-1]
		parts = parts[:len(parts)-1]
	}
	escape := strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "[", `\[`, "_", `\_`)
	for i := range parts {
		if i%2 == 0 {
			parts[i] = escape.Replace(parts[i])
		} else {
			parts[i] = code(parts[i])
		}
	}
	return strings.Join(parts, "")
}

// code returns a value as inline code, also valid in a cell of a table. The code of an empty value is empty.
func code(value string) string {
	value = strings.ReplaceAll(strings.Join(strings.Fields(value), " "), "|", `\|`)
	switch {
	case value == "":
		return ""
	case strings.Contains(value, "`"):
		return "`` " + value + " ``"
	}
	return "`" + value + "`"
}

// codes returns values as inline code, separated by commas.
func codes(values []string) string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = code(value)
	}
	return strings.Join(all, ", ")
}
