// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var (
	// toolchainLine matches the toolchain line of a go.mod or of go.work.
	toolchainLine = regexp.MustCompile(`(?m)^toolchain go(\S+)$`)
	// goFlagsLine matches the line of the Makefile that sets GOFLAGS.
	goFlagsLine = regexp.MustCompile(`(?m)^export GOFLAGS := (.+)$`)
)

// Everything that is released, tested and scanned for vulnerabilities must use one version of the standard library.
func TestOneGoVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	version := func(file string) string {
		found := toolchainLine.FindStringSubmatch(content(t, file))
		g.Expect(found).To(HaveLen(2), "%s names no toolchain", file)
		return found[1]
	}
	want := version("shared/go.mod")
	files := []string{"e2e/go.mod", "kubectl-fd/go.mod", "shared/api/go.mod", "e2e/build/vulncheck/go.mod", "e2e/build/hugo/go.mod"}
	for _, name := range providers(t) {
		files = append(files, filepath.Join("providers", name, "go.mod"), filepath.Join("providers", name, "api", "go.mod"))
	}
	for _, file := range files {
		g.Expect(version(file)).To(Equal(want), file)
	}
	dockerfile := content(t, "shared/config/Dockerfile")
	g.Expect(strings.Count(dockerfile, "GO_VERSION=")).To(Equal(1))
	g.Expect(dockerfile).To(ContainSubstring("ARG GO_VERSION=" + want + "\n"))
}

// Packages are compiled again for other flags.
func TestOneSetOfGoFlags(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	found := goFlagsLine.FindStringSubmatch(content(t, "Makefile"))
	g.Expect(found).To(HaveLen(2))
	for _, file := range []string{"CONTRIBUTING.md", "shared/testenv/assets.go"} {
		g.Expect(content(t, file)).To(ContainSubstring(found[1]), file)
	}
}
