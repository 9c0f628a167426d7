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
func (l *List) Check(root, path string) ([]Hit, error) {
	if generated(path) {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, err
	}
	var texts []passage
	switch filepath.Ext(path) {
	case ".go":
		texts, err = ofGo(path, content)
	case ".md":
		texts = ofMarkdown(string(content))
	default:
		texts = ofComments(string(content))
	}
	var hits []Hit
	for _, text := range texts {
		hits = append(hits, l.find(path, text)...)
	}
	return hits, err
}

func generated(path string) bool {
	return strings.Contains(path, "zz_generated") || strings.Contains(path, "/testdata/") || strings.Contains(path, "/crd/bases/") ||
		strings.HasPrefix(path, "e2e/cmd/prose/")
}

// passage is a line of prose.
type passage struct {
	line int
	text string
}

func (l *List) find(path string, of passage) []Hit {
	text := of.text
	for _, allowed := range l.Allowed {
		text = strings.ReplaceAll(text, allowed.Term, "")
	}
	var hits []Hit
	for _, rule := range l.Rules {
		for _, found := range rule.expression.FindAllString(text, -1) {
			hits = append(hits, Hit{path, of.line, found, rule.Use})
		}
	}
	return hits
}

// sentence is how many words a string literal has that is prose, and no name or code.
const sentence = 4

// ofGo returns the comments of a file, directives apart, and the string literals that are sentences.
func ofGo(path string, content []byte) ([]passage, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var texts []passage
	for _, group := range file.Comments {
		for _, comment := range group.List {
			texts = append(texts, lines(files.Position(comment.Pos()).Line, comment.Text)...)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		literal, is := node.(*ast.BasicLit)
		if !is || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && len(strings.Fields(text)) >= sentence {
			texts = append(texts, lines(files.Position(literal.Pos()).Line, text)...)
		}
		return true
	})
	return texts, nil
}

// code is what has the code font in Markdown.
var code = regexp.MustCompile("`[^`]*`")

// ofMarkdown returns the lines outside of fences, without what has the code font.
func ofMarkdown(content string) []passage {
	var texts []passage
	fenced := false
	for i, line := range strings.Split(content, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			texts = append(texts, passage{i + 1, code.ReplaceAllString(line, "")})
		}
	}
	return texts
}

// ofComments returns what follows a number sign, as in YAML and Makefiles.
func ofComments(content string) []passage {
	var texts []passage
	for i, line := range strings.Split(content, "\n") {
		if _, comment, found := strings.Cut(line, "#"); found {
			texts = append(texts, passage{i + 1, comment})
		}
	}
	return texts
}

func lines(first int, text string) []passage {
	var texts []passage
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//"))
		texts = append(texts, passage{first + i, line})
	}
	return texts
}
