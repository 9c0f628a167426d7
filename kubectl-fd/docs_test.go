// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// The page shows actual output: each text block that begins with a kubectl fd command equals that command's golden file.
func TestDocsMatchGoldenFiles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "kubectl-fd.md"))
	g.Expect(err).NotTo(HaveOccurred())
	shown := map[string]string{}
	for _, block := range regexp.MustCompile("(?ms)^```\n\\$ (kubectl fd [^\n]*)\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
		shown[block[1]] = block[2]
	}
	golden := map[string]string{
		"kubectl fd get -n prod":                    "get.txt",
		"kubectl fd plan prod-1 -n prod":            "plan-status.txt",
		"kubectl fd simulate --lose rack-2 -n prod": "simulate-rack-2.txt",
		"kubectl fd history prod-1 -n prod":         "history.txt",
		"kubectl fd preflight vsphere":              "preflight.txt",
	}
	for command, name := range golden {
		text, err := os.ReadFile(filepath.Join("internal", "command", "testdata", name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(shown).To(HaveKeyWithValue(command, string(text)))
	}
	g.Expect(shown).To(HaveLen(len(golden)))
	picture, err := os.ReadFile(filepath.Join("internal", "command", "testdata", "get.svg"))
	g.Expect(err).NotTo(HaveOccurred())
	quoted, err := os.ReadFile(filepath.Join(root, "docs", "images", "kubectl-fd.svg"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(quoted)).To(Equal(string(picture)), "docs/images/kubectl-fd.svg is internal/command/testdata/get.svg")
}
