// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// module is the prefix of the import paths of the repository's packages.
const module = "github.com/faultline-io/faultline/"

// constant is a string constant of the code.
type constant struct {
	// Folder is the folder of its package, relative to the root, with slashes. File is the name of its file.
	Folder, File string
	Name, Value  string
	// Doc is its doc comment, on one line.
	Doc string
}

// declared is a constant whose value is not resolved yet.
type declared struct {
	constant
	value ast.Expr
	// imports has the import paths of its file by the name that the file uses.
	imports map[string]string
}

// product has the folders of the code that is released.
func product() []string { return []string{"shared", "providers", "kubectl-fd"} }

// constants returns the string constants of the product, in the order of the code.
func constants(root string) ([]constant, error) {
	r, order, err := newResolver(root)
	if err != nil {
		return nil, err
	}
	var all []constant
	for _, one := range order {
		if one.Value = r.value(one, one.value); one.Value != "" {
			all = append(all, one.constant)
		}
	}
	return all, r.err
}

// newResolver returns a resolver for the constants of the product, and these in the order of the code.
func newResolver(root string) (*resolver, []*declared, error) {
	r := &resolver{root: root, packages: map[string]map[string]*declared{}}
	var order []*declared
	err := eachFile(root, func(folder, file string, parsed *ast.File) {
		found := declarations(parsed, folder, file)
		r.add(found)
		order = append(order, found...)
	})
	return r, order, err
}

// eachFile calls visit for the Go files of the product, with their folder and name.
func eachFile(root string, visit func(folder, file string, parsed *ast.File)) error {
	for _, folder := range product() {
		err := sourceFiles(filepath.Join(root, folder), func(file string) error {
			relative, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			visit(path.Dir(filepath.ToSlash(relative)), filepath.Base(file), parsed)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sourceFiles calls visit for the Go files of the product below a folder.
func sourceFiles(folder string, visit func(file string) error) error {
	return filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if forTests, err := isForTests(file); err != nil || forTests {
				return cmp.Or(err, fs.SkipDir)
			}
			return nil
		case filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		return visit(file)
	})
}

// isForTests reports whether a folder has code that the product does not contain: a simulator, what simulators share, or a package that
// imports a test library.
func isForTests(folder string) (bool, error) {
	if name := filepath.Base(folder); name == "simulator" || name == "simulation" {
		return true, nil
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return false, err
		}
		for _, imported := range imports(parsed) {
			if imported == "testing" || imported == "github.com/onsi/gomega" {
				return true, nil
			}
		}
	}
	return false, nil
}

// imports returns the import paths of a file by the name that the file uses.
func imports(parsed *ast.File) map[string]string {
	all := map[string]string{}
	for _, one := range parsed.Imports {
		imported := strings.Trim(one.Path.Value, `"`)
		name := path.Base(imported)
		if one.Name != nil {
			name = one.Name.Name
		}
		all[name] = imported
	}
	return all
}

// declarations returns the constants that a file declares.
func declarations(parsed *ast.File, folder, file string) []*declared {
	imported := imports(parsed)
	var all []*declared
	for _, declaration := range parsed.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			spec := spec.(*ast.ValueSpec)
			for i, value := range spec.Values {
				all = append(all, &declared{
					constant: constant{Folder: folder, File: file, Name: spec.Names[i].Name, Doc: comment(group, spec)},
					value:    value, imports: imported,
				})
			}
		}
	}
	return all
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

// resolver finds the values of constants.
type resolver struct {
	root string
	// packages has the constants by folder, or by import path if the package is Cluster API's.
	packages map[string]map[string]*declared
	// err is the first error of reading a package of Cluster API.
	err error
}

func (r *resolver) add(all []*declared) {
	for _, one := range all {
		if r.packages[one.Folder] == nil {
			r.packages[one.Folder] = map[string]*declared{}
		}
		r.packages[one.Folder][one.Name] = one
	}
}

// value returns the text of an expression of a declaration, and nothing if it is not text or of another project than Cluster API.
func (r *resolver) value(of *declared, expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value) // A number has no text.
		return text
	case *ast.BinaryExpr:
		if left, right := r.value(of, e.X), r.value(of, e.Y); left != "" && right != "" {
			return left + right
		}
	case *ast.CallExpr: // A conversion.
		if len(e.Args) == 1 {
			return r.value(of, e.Args[0])
		}
	case *ast.Ident:
		return r.constant(of.Folder, e.Name)
	case *ast.SelectorExpr:
		if name, ok := e.X.(*ast.Ident); ok {
			return r.imported(of.imports[name.Name], e.Sel.Name)
		}
	}
	return ""
}

func (r *resolver) constant(folder, name string) string {
	if one := r.packages[folder][name]; one != nil {
		return r.value(one, one.value)
	}
	return ""
}

// imported returns the value of a constant of an imported package.
func (r *resolver) imported(importPath, name string) string {
	if folder, ours := strings.CutPrefix(importPath, module); ours {
		return r.constant(folder, name)
	}
	if !strings.HasPrefix(importPath, "sigs.k8s.io/cluster-api/") {
		return ""
	}
	if r.packages[importPath] == nil {
		r.packages[importPath] = map[string]*declared{}
		r.err = cmp.Or(r.err, r.load(importPath))
	}
	return r.constant(importPath, name)
}

// load reads the constants of a package of Cluster API, in the version that e2e requires.
func (r *resolver) load(importPath string) error {
	folder, err := printed(filepath.Join(r.root, "e2e"), "go", "list", "-f", "{{.Dir}}", importPath)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(folder), "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		r.add(declarations(parsed, importPath, filepath.Base(file)))
	}
	return nil
}
