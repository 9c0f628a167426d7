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
	"sigs.k8s.io/yaml"
)

// sources is the root folder of the repository.
const sources = "../.."

// section returns the part of a page below a heading, up to the next heading of the same or a higher level.
func section(page, heading string) string {
	level := len(heading) - len(strings.TrimLeft(heading, "#"))
	_, rest, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		return ""
	}
	if end := regexp.MustCompile(`(?m)^#{1,` + string(rune('0'+level)) + `} `).FindStringIndex(rest); end != nil {
		rest = rest[:end[0]]
	}
	return rest
}

// cells returns the cells of the rows of all tables in Markdown, with the header of their table.
func cells(markdown string) (rows []map[string]string) {
	var header []string
	for line := range strings.Lines(markdown) {
		line = strings.TrimSuffix(strings.TrimSpace(line), " |")
		if !strings.HasPrefix(line, "| ") {
			header = nil
			continue
		}
		columns := strings.Split(strings.ReplaceAll(strings.TrimPrefix(line, "| "), `\|`, "\x00"), " | ")
		if header == nil {
			header = columns
			continue
		}
		row := map[string]string{}
		for i, column := range columns {
			if i < len(header) {
				row[header[i]] = strings.TrimSpace(strings.ReplaceAll(column, "\x00", `\|`))
			} else {
				row["beyond the header"] = column
			}
		}
		if !strings.HasPrefix(columns[0], "---") {
			rows = append(rows, row)
		}
	}
	return rows
}

// everyField calls visit for every field of a schema, as YAML has it, and not as the page reads it.
func everyField(path string, schema map[string]any, visit func(path string, schema map[string]any)) {
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		if path == "" && (name == "apiVersion" || name == "kind" || name == "metadata") {
			continue
		}
		field := strings.TrimPrefix(path+"."+name, ".")
		visit(field, property.(map[string]any))
		everyField(field, property.(map[string]any), visit)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		everyField(path+"[]", items, visit)
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		everyField(path+"{}", values, visit)
	}
}

func TestAPIPagesShowEveryFieldOfEveryStoredVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := apiPages(sources)
	g.Expect(err).NotTo(HaveOccurred())
	kinds, seen := 0, 0
	g.Expect(filepath.WalkDir(filepath.Join(sources, "providers"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.Contains(path, "/config/") || filepath.Base(filepath.Dir(path)) != "bases" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var crd map[string]any
		g.Expect(yaml.Unmarshal(content, &crd)).To(Succeed())
		spec := crd["spec"].(map[string]any)
		kind := spec["names"].(map[string]any)["kind"].(string)
		provider := strings.Split(strings.TrimPrefix(path, filepath.Join(sources, "providers")+"/"), "/")[0]
		of := section(pages["api-"+provider+".md"], "## "+kind)
		g.Expect(of).NotTo(BeEmpty(), "api-%s.md has a section %s", provider, kind)
		shown := map[string]map[string]string{}
		for _, row := range cells(of) {
			shown[strings.Trim(row["Field"], "`")] = row
		}
		kinds++
		for _, version := range spec["versions"].([]any) {
			version := version.(map[string]any)
			g.Expect(of).To(ContainSubstring(version["name"].(string)), kind)
			if version["storage"] != true {
				continue
			}
			fields := 0
			everyField("", version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any), func(path string, schema map[string]any) {
				fields++
				row := shown[path]
				g.Expect(row).NotTo(BeNil(), "%s.%s", kind, path)
				g.Expect(row).NotTo(HaveKey("beyond the header"), "%s.%s", kind, path)
				g.Expect(row["Description"]).NotTo(BeEmpty(), "%s.%s has a description", kind, path)
				g.Expect(row["Type"]).NotTo(BeEmpty(), "%s.%s", kind, path)
				g.Expect(row["Default"] != "").To(Equal(schema["default"] != nil), "default of %s.%s: %v", kind, path, row)
				for _, rule := range []string{"enum", "minimum", "maximum", "pattern", "minLength", "maxItems", "x-kubernetes-validations"} {
					if schema[rule] != nil {
						g.Expect(row["Validation"]).NotTo(BeEmpty(), "%s of %s.%s", rule, kind, path)
					}
				}
			})
			g.Expect(shown).To(HaveLen(fields), "%s has no other fields", kind)
			seen += fields
		}
		return nil
	})).To(Succeed())
	g.Expect(kinds).To(BeNumerically(">", 20))
	g.Expect(seen).To(BeNumerically(">", 1500))
}

func TestTextAndCodeStayInTheirCell(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(text("a|b\n  c <d> `e|f` *")).To(Equal("a\\|b c &lt;d> `e\\|f` \\*"))
	g.Expect(text("an odd ` backtick")).To(Equal("an odd ' backtick"))
	g.Expect(code("^a|b$")).To(Equal("`^a\\|b$`"))
	g.Expect(code("a`b")).To(Equal("`` a`b ``"))
	g.Expect(code("")).To(BeEmpty())
	g.Expect(cells("| A | B |\n| --- | --- |" + rows([][]string{{code("x|y"), text("1 | 2")}}))).To(ConsistOf(map[string]string{"A": "`x\\|y`", "B": "1 \\| 2"}))
}
