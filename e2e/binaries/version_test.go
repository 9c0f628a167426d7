// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package binaries

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestProgramsReportTheirVersion builds the programs as they are in images.
func TestProgramsReportTheirVersion(t *testing.T) {
	g := NewWithT(t)
	t.Setenv(ReleaseVariable, "v9.8.7")
	t.Setenv(CommitVariable, "0123abc")
	b, err := New(os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	programs := map[string]string{LoadBalancer: "faultline-harvester-load-balancer-manager", CloudProvider: "harvester-cloud-provider"}
	mains, err := filepath.Glob(filepath.Join(b.Root, "providers", "*", "main.go"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mains).NotTo(BeEmpty())
	for _, main := range mains {
		name := filepath.Base(filepath.Dir(main))
		programs[Provider(name)] = "faultline-" + name + "-manager"
	}
	for program, name := range programs {
		r, err := b.recipe(program)
		g.Expect(err).NotTo(HaveOccurred())
		file := filepath.Join(t.TempDir(), program)
		g.Expect(b.compile(t.Context(), r, "", file)).To(Succeed())
		printed, err := exec.CommandContext(t.Context(), file, "--version").CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(printed))
		g.Expect(string(printed)).To(HavePrefix(name+" v9.8.7 (commit 0123abc, go1."), program)
	}
}
