// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"cmp"
	"errors"
	"go/ast"
	goconstant "go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// module is the prefix of the import paths of the repository's packages.
const module = "github.com/faultline-io/faultline/"

// Modules of other projects whose packages the product's constants and metrics use.
const (
	clusterAPIModule = "sigs.k8s.io/cluster-api/api"
	prometheusModule = "github.com/prometheus/client_golang"
)

// constant is a string constant of the code.
type constant struct {
	// Folder is the folder of its package, relative to the root, with slashes. File is the name of its file.
	Folder, File string
	Name, Value  string
	// Doc is its doc comment, on one line.
	Doc string
}

// constants returns the string constants of the product, in the order of the code.
func constants(root string) ([]constant, error) {
	p, err := readProduct(root)
	if err != nil {
		return nil, err
	}
	var all []constant
	for _, file := range p.files {
		for _, declaration := range file.syntax.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				spec := spec.(*ast.ValueSpec)
				for i, value := range spec.Values {
					if text := p.text(value); text != "" {
						all = append(all, constant{Folder: file.folder, File: file.name, Name: spec.Names[i].Name, Value: text, Doc: comment(group, spec)})
					}
				}
			}
		}
	}
	return all, nil
}

// comment returns the comment of a constant: the one above it, or after it in the same line.
func comment(group *ast.GenDecl, spec *ast.ValueSpec) string {
	of := spec.Doc
	if of == nil && !group.Lparen.IsValid() {
		of = group.Doc
	}
	if of == nil {
		of = spec.Comment
	}
	return strings.Join(strings.Fields(of.Text()), " ")
}

// product is the code that is released, with the values of constant expressions.
type product struct {
	// folders has the folder of the repository, and those of some modules of other projects, by the prefix of import paths.
	folders map[string]string
	// files are those of the product, in the order of the folders.
	files    []sourceFile
	packages map[string]*sourcePackage // by import path
	info     types.Info
	set      *token.FileSet
}

type sourcePackage struct {
	checked  *types.Package
	files    []sourceFile
	forTests bool
}

// sourceFile is a Go file. Its folder is relative to the root, with slashes.
type sourceFile struct {
	folder, name string
	syntax       *ast.File
}

// readProduct reads the code of the product: all but simulators, and packages that import a test library. It finds other projects in the
// versions that e2e requires.
func readProduct(root string) (*product, error) {
	p := &product{
		folders: map[string]string{module: root}, packages: map[string]*sourcePackage{},
		info: types.Info{Types: map[ast.Expr]types.TypeAndValue{}}, set: token.NewFileSet(),
	}
	for _, name := range []string{clusterAPIModule, prometheusModule} {
		printed, err := runGo(filepath.Join(root, "e2e"), "list", "-m", "-f", "{{.Dir}}", name)
		if err != nil {
			return nil, err
		}
		p.folders[name+"/"] = strings.TrimSpace(printed)
	}
	for _, folder := range []string{"shared", "providers", "kubectl-fd"} {
		err := fs.WalkDir(os.DirFS(root), folder, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil || !entry.IsDir():
				return err
			case entry.Name() == "simulator" || entry.Name() == "simulation":
				return fs.SkipDir
			}
			read, err := p.read(module+name, filepath.Join(root, filepath.FromSlash(name)))
			if err != nil || read.forTests {
				return cmp.Or(err, fs.SkipDir)
			}
			p.files = append(p.files, read.files...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Import implements types.Importer.
func (p *product) Import(path string) (*types.Package, error) {
	for prefix, folder := range p.folders {
		if below, found := strings.CutPrefix(path, prefix); found {
			read, err := p.read(path, filepath.Join(folder, filepath.FromSlash(below)))
			if err != nil {
				return nil, err
			}
			return read.checked, nil
		}
	}
	return nil, errors.New("not needed")
}

// read reads the package in a folder. It ignores errors of types: those of packages that Import does not find are missing.
func (p *product) read(path, folder string) (*sourcePackage, error) {
	if known := p.packages[path]; known != nil {
		return known, nil
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	read := &sourcePackage{}
	p.packages[path] = read
	var files []*ast.File
	definesMetrics := false
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(p.set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, imported := range parsed.Imports {
			switch imported.Path.Value {
			case `"testing"`, `"github.com/onsi/gomega"`:
				read.forTests = true
			case `"` + prometheusModule + `/prometheus"`:
				definesMetrics = true
			}
		}
		files = append(files, parsed)
		read.files = append(read.files, sourceFile{strings.TrimPrefix(path, module), filepath.Base(name), parsed})
	}
	config := types.Config{Importer: p, Error: func(error) {}, IgnoreFuncBodies: !definesMetrics}
	read.checked, _ = config.Check(path, p.set, files, &p.info)
	return read, nil
}

// text returns the value of a constant expression that is a string, else nothing.
func (p *product) text(expression ast.Expr) string {
	if value := p.info.Types[expression].Value; value != nil && value.Kind() == goconstant.String {
		return goconstant.StringVal(value)
	}
	return ""
}
