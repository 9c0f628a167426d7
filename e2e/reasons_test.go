// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// healthyReasons returns the reasons of true conditions, which need no documentation.
func healthyReasons() []string {
	return []string{
		"AllActive", "NoFailureDomains", "Balanced", "Available", "Ready", "Provisioned", "Placed", "Joined", "Validated", "Configured", "InFailureDomain",
		"AssociateBareMetalHostSuccess", "AssociateBareMetalHostViaNodeReuseSuccess", "AssociateMetal3MachineMetaDataSuccess",
		"Metal3DataSecretsReady", "SecretsSetExternally", "NotPaused",
		"HarvesterConnectionReady", "TargetNamespaceReady", "LoadBalancerReady", "ControlPlaneEndpointGiven", "CustomIPPoolCreatedSuccessfully",
		"VMIPPoolReady", "VMIPPoolCreatedByController", "CloudProviderConfigGeneratedSuccessfully", "InfrastructureReady", "MachineCreated",
		"VMIPAllocated", "VMProvisioningReady", "VMRunning", "Fulfilled",
	}
}

// constants maps qualified names of string constants in a set of packages, such as infrav1.VSphereMachinePlacedReason, to their
// values.
type constants map[string]string

// read adds the constants of the packages in a folder, which other packages import under the alias. A constant may have another one's
// value; the referenced one must be read before, or be in the same package.
func (c constants) read(g Gomega, folder, alias string) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	specs := map[string]ast.Expr{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		g.Expect(err).NotTo(HaveOccurred())
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i, name := range spec.Names {
					specs[name.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	for name := range specs {
		if value := c.value(specs, specs[name]); value != "" {
			c[alias+"."+name] = value
		}
	}
}

// value returns the value of a literal, of another constant of the package, or of another package.
func (c constants) value(specs map[string]ast.Expr, expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.Ident:
		return c.value(specs, specs[e.Name])
	case *ast.SelectorExpr:
		return c[qualified(e)]
	}
	return ""
}

func qualified(e *ast.SelectorExpr) string {
	if of, ok := e.X.(*ast.Ident); ok {
		return of.Name + "." + e.Sel.Name
	}
	return ""
}

// used adds the reasons in the product's code below a folder, with the position of the first use.
func (c constants) used(g Gomega, folder string, found map[string]string) {
	g.Expect(filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == "simulator" {
			return cmpErr(err, fs.SkipDir)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/api/") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if e, ok := n.(*ast.SelectorExpr); ok && strings.Contains(e.Sel.Name, "Reason") && c[qualified(e)] != "" && found[c[qualified(e)]] == "" {
				found[c[qualified(e)]] = path
			}
			return true
		})
		return nil
	})).To(Succeed())
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func TestConditionReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := repository
	clusterAPI, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api/api").Output()
	g.Expect(err).NotTo(HaveOccurred())
	providers, err := filepath.Glob(filepath.Join(root, "providers", "*"))
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for _, provider := range providers {
		known := constants{}
		known.read(g, filepath.Join(strings.TrimSpace(string(clusterAPI)), "core", "v1beta2"), "clusterv1")
		known.read(g, filepath.Join(root, "shared", "api", "v1beta1"), "faultlinev1")
		versions, err := filepath.Glob(filepath.Join(provider, "api", "v1beta*"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(versions).NotTo(BeEmpty(), provider)
		known.read(g, slices.Max(versions), "infrav1") // the hub
		known.used(g, provider, found)
		known.used(g, filepath.Join(root, "shared"), found)
	}
	g.Expect(len(found)).To(BeNumerically(">", 50), "the reasons are found")
	text, err := os.ReadFile(filepath.Join(root, "docs", "troubleshooting.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, reason := range healthyReasons() {
		delete(found, reason)
	}
	for reason, path := range found {
		if !strings.Contains(string(text), "`"+reason+"`") {
			t.Errorf("docs/troubleshooting.md does not say what to do about %s, which %s reports", reason, strings.TrimPrefix(path, root+"/"))
		}
	}
}

// Authors of a new provider look there for existing packages.
func TestSharedReadmeListsPackages(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	shared := filepath.Join(repository, "shared")
	readme, err := os.ReadFile(filepath.Join(shared, "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	list := exec.CommandContext(t.Context(), "go", "list", "./...")
	list.Dir = shared
	packages, err := list.Output()
	g.Expect(err).NotTo(HaveOccurred())
	for name := range strings.FieldsSeq(string(packages)) {
		if folder, found := strings.CutPrefix(name, "github.com/faultline-io/faultline/shared/"); found {
			g.Expect(string(readme)).To(ContainSubstring("](" + folder + ")"))
		}
	}
}
