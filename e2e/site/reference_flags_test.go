// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

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

func TestHelpIsReadWithTypesDefaultsAndFurtherLines(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(parseHelp(`Usage of manager:
      --gates mapStringBool   Gates:
                              A=true|false (a)
      --on                    Be on. (default true)
      --off                   Be off.
  -v, --v pattern=N,...       Level of pattern=N (default "x")

Serving flags:

      --port int   Port. (default 443)
`)).To(Equal([]flagSection{
		{Flags: []flagHelp{
			{Name: "gates", Type: "mapStringBool", Usage: "Gates:\nA=true|false (a)"},
			{Name: "on", Type: "boolean", Default: "true", Usage: "Be on."},
			{Name: "off", Type: "boolean", Default: "false", Usage: "Be off."},
			{Short: "v", Name: "v", Type: "pattern=N,...", Default: `"x"`, Usage: "Level of pattern=N"},
		}},
		{Heading: "Serving flags", Flags: []flagHelp{{Name: "port", Type: "int", Default: "443", Usage: "Port."}}},
	}))
}
