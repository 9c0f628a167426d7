// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package process

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// shell returns a process that runs a script.
func shell(t *testing.T, g *WithT, script string) *Process {
	t.Helper()
	p, err := Start(t.Context(), Command{Name: "program", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")})
	g.Expect(err).NotTo(HaveOccurred())
	return p
}

func TestUnexpectedExitIncludesOutput(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := shell(t, g, "echo no disk; exit 3")
	failure := MatchError(And(ContainSubstring("program exited unexpectedly"), ContainSubstring("exit status 3"), ContainSubstring("no disk")))
	g.Expect(p.Wait(t.Context())).To(failure)
	g.Expect(p.Err()).To(failure)
	g.Expect(p.Stop()).To(failure)
	g.Expect(shell(t, g, "exit 0").Wait(t.Context())).To(Succeed())
}

func TestStop(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := shell(t, g, "exec sleep 600")
	g.Expect(p.Err()).NotTo(HaveOccurred())
	g.Expect(p.Stop()).To(Succeed())
}
