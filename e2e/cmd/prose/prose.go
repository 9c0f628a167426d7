// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed words.yaml
var words []byte

// Rule is a pattern of words and what to write in their place.
type Rule struct {
	// Pattern is a regular expression without regard to case.
	Pattern string `json:"pattern"`
	// Use is what to write.
	Use string `json:"use"`

	expression *regexp.Regexp
}

// List is the content of words.yaml.
type List struct {
	Rules []Rule `json:"rules"`
	// Allowed are terms of art that a rule would find.
	Allowed []struct {
		Term   string `json:"term"`
		Reason string `json:"reason"`
	} `json:"allowed"`
}

// Hit is a place where a rule applies.
type Hit struct {
	// File is the path as it was given, Line counts from 1.
	File string
	Line int
	// Words are those found, Use what to write in their place.
	Words, Use string
}

func (h Hit) String() string {
	return fmt.Sprintf("%s:%d: %q: write %s", h.File, h.Line, h.Words, h.Use)
}

// Words returns the list of the repository.
func Words() (*List, error) {
	list := &List{}
	if err := yaml.UnmarshalStrict(words, list); err != nil {
		return nil, fmt.Errorf("reading words.yaml: %w", err)
	}
	for i := range list.Rules {
		rule := &list.Rules[i]
		expression, err := regexp.Compile("(?i)" + rule.Pattern)
		if err != nil {
			return nil, fmt.Errorf("words.yaml: %w", err)
		}
		rule.expression = expression
	}
	for _, allowed := range list.Allowed {
		if allowed.Reason == "" {
			return nil, fmt.Errorf("words.yaml: allowed term %q needs a reason", allowed.Term)
		}
	}
	return list, nil
}

// Check returns the hits in one file of the repository at root. Generated files and this package, which quotes the words, have none.
func (l *List) Check(root, path string) (hits []Hit, err error) {
	if generated(path) {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, err
	}
	visit := func(line int, text string) { hits = append(hits, l.find(path, line, text)...) }
	switch filepath.Ext(path) {
	case ".go":
		err = visitGo(path, content, visit)
	case ".md", ".tmpl":
		visitMarkdown(string(content), visit)
	default:
		visitComments(string(content), visit)
	}
	return hits, err
}

func generated(path string) bool {
	return strings.Contains(path, "zz_generated") || strings.Contains(path, "/testdata/") || strings.Contains(path, "/crd/bases/") ||
		strings.HasPrefix(path, "e2e/cmd/prose/")
}

// visitor gets each line of prose with its number.
type visitor func(line int, text string)

func (l *List) find(path string, line int, text string) []Hit {
	for _, allowed := range l.Allowed {
		text = strings.ReplaceAll(text, allowed.Term, "")
	}
	var hits []Hit
	for _, rule := range l.Rules {
		for _, found := range rule.expression.FindAllString(text, -1) {
			hits = append(hits, Hit{path, line, found, rule.Use})
		}
	}
	return hits
}

// sentence is how many words a string literal has that is prose, and no name or code.
const sentence = 4

// visitGo visits the comments of a file and the string literals that are sentences.
func visitGo(path string, content []byte, visit visitor) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	visitLines := func(at token.Pos, text string) {
		for i, line := range strings.Split(text, "\n") {
			visit(files.Position(at).Line+i, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//")))
		}
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			visitLines(comment.Pos(), comment.Text)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, is := node.(*ast.BasicLit); is && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && len(strings.Fields(text)) >= sentence {
				visitLines(literal.Pos(), text)
			}
		}
		return true
	})
	return nil
}

// code is what has the code font in Markdown.
var code = regexp.MustCompile("`[^`]*`")

// visitMarkdown visits the lines outside of fences, without what has the code font.
func visitMarkdown(content string, visit visitor) {
	fenced := false
	for i, line := range strings.Split(content, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			visit(i+1, code.ReplaceAllString(line, ""))
		}
	}
}

// visitComments visits what follows a number sign, as in YAML and Makefiles.
func visitComments(content string, visit visitor) {
	for i, line := range strings.Split(content, "\n") {
		if _, comment, found := strings.Cut(line, "#"); found {
			visit(i+1, comment)
		}
	}
}
