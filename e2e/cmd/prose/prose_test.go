// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestCheckFindsWordsInProseOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file, content string
		lines               []int
	}{
		{"comments of Go", "a.go", "package a\n\n// Nobody looks, and it is to be read anew.\nvar nobody int // whoever\n", []int{3, 3, 3, 4}},
		{"sentences in strings", "b.go", "package b\n\nconst (\n\tB = \"somebody\"\n\tC = \"x is set by somebody\"\n)\n", []int{5}},
		{"lines of a raw string", "c.go", "package c\n\nconst C = `the first line\nand nobody in the second`\n", []int{4}},
		{"elliptic reasons", "d.go", "package d\n\n// ReadyReason: it is.\nconst ReadyReason = \"Ready\"\n", []int{3}},
		{"pages", "e.md", "# Told\n\n`nobody`\n\n```\nnobody\n```\nThis says so.\n", []int{1, 8}},
		{"comments of YAML", "f.yaml", "nobody: x # a beside b\n", []int{1}},
		{"generated files", "zz_generated.go", "package g\n\n// Nobody.\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			root := t.TempDir()
			g.Expect(os.WriteFile(filepath.Join(root, test.file), []byte(test.content), 0o600)).To(Succeed())
			list, err := Words()
			g.Expect(err).NotTo(HaveOccurred())
			hits, err := list.Check(root, test.file)
			g.Expect(err).NotTo(HaveOccurred())
			var lines []int
			for _, hit := range hits {
				lines = append(lines, hit.Line)
			}
			g.Expect(lines).To(ConsistOf(test.lines))
		})
	}
}

func TestCheckFailsForInvalidGo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(root, "a.go"), []byte("pack"), 0o600)).To(Succeed())
	list, err := Words()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = list.Check(root, "a.go")
	g.Expect(err).To(HaveOccurred())
}
