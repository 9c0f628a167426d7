// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package site

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// generated has all pages. Tests share them, because the programs run for the page of flags.
var generated = sync.OnceValues(func() (map[string]string, error) { return Reference(sources) })

// definedFlags returns the names of the flags that the code of the product defines, with the folder of the last definition: calls of pflag's
// methods, and names of ignored flags.
func definedFlags(t *testing.T) map[string]string {
	t.Helper()
	g := NewWithT(t)
	method := regexp.MustCompile(`^(Bool|String|StringSlice|StringArray|Int|Int32|Int64|Float32|Float64|Duration|Var)(Var)?(P|PF)?$`)
	name := regexp.MustCompile(`^[a-zA-Z][\w-]*$`)
	defined := map[string]string{}
	for _, folder := range []string{"shared", "providers", "kubectl-fd"} {
		g.Expect(filepath.WalkDir(filepath.Join(sources, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			flagName := func(argument ast.Expr) {
				if literal, ok := argument.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if value, _ := strconv.Unquote(literal.Value); name.MatchString(value) {
						defined[value] = filepath.Dir(path)
					}
				}
			}
			ast.Inspect(parsed, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.CallExpr: // X.BoolVar(&variable, "name", default, usage)
					if called, ok := node.Fun.(*ast.SelectorExpr); ok && method.MatchString(called.Sel.Name) && len(node.Args) >= 3 {
						flagName(node.Args[1])
					}
				case *ast.KeyValueExpr: // manager.Ignored{Name: "name", Why: reason}
					if key, ok := node.Key.(*ast.Ident); ok && key.Name == "Name" && strings.HasSuffix(path, "main.go") && !strings.Contains(path, "/cmd/") {
						flagName(node.Value)
					}
				}
				return true
			})
			return nil
		})).To(Succeed())
	}
	for _, provider := range []string{"vsphere", "metal3", "harvester"} {
		delete(defined, provider) // Provider{Name: ...}
	}
	return defined
}

func TestFlagsPageShowsEveryFlagThatTheCodeDefines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := generated()
	g.Expect(err).NotTo(HaveOccurred())
	page := pages["flags.md"]
	rows := map[string]map[string]string{}
	for _, row := range cells(page) {
		g.Expect(row).NotTo(HaveKey("beyond the header"))
		g.Expect(row["Description"]).NotTo(BeEmpty(), row["Flag"])
		g.Expect(row["Type"]).NotTo(BeEmpty(), row["Flag"])
		rows[strings.Trim(strings.Split(row["Flag"], ",")[0], "`")] = row
	}
	defined := definedFlags(t)
	g.Expect(len(defined)).To(BeNumerically(">", 60))
	for name, folder := range defined {
		g.Expect(rows).To(HaveKey("--"+name), "flag of %s", folder)
	}
	for _, program := range []string{"vSphere manager", "Metal3 manager", "Harvester manager", "Harvester load balancer", "Harvester cloud provider",
		"kubectl fd", "kubectl fd get", "kubectl fd simulate"} {
		g.Expect(cells(section(page, "## "+program))).NotTo(BeEmpty(), program)
	}
	g.Expect(rows["--leader-elect-lease-duration"]).To(HaveKeyWithValue("Default", "`15s`"))
	home, err := os.UserHomeDir()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(page).NotTo(ContainSubstring("`\"" + home))
}

func TestReferenceHasEveryPageAndOnlyLinksThatLeadSomewhere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := generated()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(slices.Sorted(maps.Keys(pages))).To(Equal([]string{
		"api-harvester.md", "api-metal3.md", "api-vsphere.md", "conditions.md", "flags.md", "labels.md", "metrics.md", "ports-rbac.md", "support-matrix.md",
		"variables.md",
	}))
	headings := func(page string) []string {
		var all []string
		for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
			all = append(all, strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-"))
		}
		return all
	}
	found, inlineCode := 0, regexp.MustCompile("`[^`]+`")
	for name, page := range pages {
		g.Expect(page).To(HavePrefix("# "), name)
		g.Expect(page).NotTo(MatchRegexp(`\{\{[<%]`), "%s: Hugo reads this as a shortcode", name)
		g.Expect(slices.Compact(slices.Sorted(slices.Values(headings(page))))).To(HaveLen(len(headings(page))), "%s: headings are unique", name)
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(inlineCode.ReplaceAllString(page, ""), -1) {
			found++
			if strings.HasPrefix(link[1], "https://") {
				continue
			}
			file, anchor, _ := strings.Cut(link[1], "#")
			target := pages[cmp.Or(file, name)]
			if target == "" {
				content, err := os.ReadFile(filepath.Join(sources, "docs", file))
				g.Expect(err).NotTo(HaveOccurred(), "%s links to %s", name, link[1])
				target = string(content)
			}
			if anchor != "" {
				g.Expect(headings(target)).To(ContainElement(anchor), "%s links to %s", name, link[1])
			}
		}
	}
	g.Expect(found).To(BeNumerically(">", 100))
}
