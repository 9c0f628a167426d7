// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// ReasonsNamed lists the constants of API packages that are reasons and that Go files name; of a function alone, if one is given.
func ReasonsNamed(pattern, function string) ([]string, error) {
	return reasons(pattern, func(n ast.Node) bool {
		if f, is := n.(*ast.FuncDecl); is {
			return f.Name.Name == function
		}
		_, all := n.(*ast.File)
		return all && function == ""
	}, func(n ast.Node, add func(string)) {
		if e, is := n.(*ast.SelectorExpr); is {
			if of, is := e.X.(*ast.Ident); is && strings.HasSuffix(of.Name, "v1") {
				add(e.Sel.Name)
			}
		}
	})
}

// ReasonsBeside lists the constants of reasons that are declared in one block with a constant.
func ReasonsBeside(pattern, constant string) ([]string, error) {
	return reasons(pattern, func(n ast.Node) bool {
		block, is := n.(*ast.GenDecl)
		return is && slices.ContainsFunc(block.Specs, func(s ast.Spec) bool { return declares(s, constant) })
	}, func(n ast.Node, add func(string)) {
		if spec, is := n.(*ast.ValueSpec); is {
			add(spec.Names[0].Name)
		}
	})
}

func declares(spec ast.Spec, constant string) bool {
	value, is := spec.(*ast.ValueSpec)
	return is && value.Names[0].Name == constant
}

// reasons collects what the files that are no tests name as a reason, within the nodes that match.
func reasons(pattern string, within func(ast.Node) bool, names func(ast.Node, func(string))) (found []string, _ error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	collect := func(n ast.Node) bool {
		names(n, func(name string) {
			if strings.Contains(name, "Reason") {
				found = append(found, name)
			}
		})
		return true
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if within(n) {
				ast.Inspect(n, collect)
			}
			return true
		})
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
