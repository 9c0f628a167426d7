// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package site builds the documentation site from the Markdown of the repository and from what the code defines.
package site

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"
	"text/template"
)

// Reference returns the reference pages by file name, as Markdown. They are made of the code below root, with the templates in the folder
// templates, and stored nowhere.
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
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(names) == 0 && !strings.Contains(pattern, "*") {
			return nil, fmt.Errorf("finding %s below %s: %w", pattern, root, cmp.Or(err, fs.ErrNotExist))
		}
		for _, name := range names {
			content, err := fs.ReadFile(os.DirFS(root), name)
			if err != nil {
				return nil, err
			}
			all = append(all, source{name, content})
		}
	}
	return all, nil
}

// providers returns the names of the providers: the folders of providers with a manager.
func providers(root string) (names []string) {
	managers, _ := fs.Glob(os.DirFS(root), "providers/*/main.go") // The pattern is valid.
	for _, file := range managers {
		names = append(names, path.Base(path.Dir(file)))
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

// templates has a template for each page, one for the pages of all APIs, and that of the configuration of Hugo.
//
//go:embed templates
var templates embed.FS

// fill returns the template of a page, or of the configuration, with data. Cells of its tables must be Markdown on one line: see text and code.
func fill(name string, data any) (string, error) {
	page, err := template.New(name+".tmpl").Funcs(template.FuncMap{"text": text, "code": code, "codes": codes, "title": title, "rows": rows}).
		ParseFS(templates, "templates/"+name+".tmpl")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, data)
	return b.String(), err
}

// rows returns the rows of a Markdown table, each after the end of the line before it. The cells are Markdown already.
func rows(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString("\n| " + strings.Join(row, " | ") + " |")
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
