// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package offline

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/tool"
)

// TestInstallRequiresOptIn has an apt-get that records that it ran.
func TestInstallRequiresOptIn(t *testing.T) {
	for name, tc := range map[string]struct {
		ci, install string
		allowed     bool
	}{
		"not requested": {"", "", false},
		"refused":       {"false", "0", false},
		"CI":            {"true", "", true},
		"INSTALL=1":     {"", "1", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			folder := t.TempDir()
			ran := filepath.Join(folder, "ran")
			g.Expect(os.WriteFile(filepath.Join(folder, "apt-get"), []byte("#!/bin/sh\necho >"+ran+"\n"), 0o700)).To(Succeed())
			t.Setenv("PATH", folder)
			t.Setenv(ciVariable, tc.ci)
			t.Setenv(InstallVariable, tc.install)
			for program, install := range map[string]func() error{
				debianPackage: func() error { return Engine{}.install(t.Context()) },
				debootstrap: func() error {
					return NodeImages{Docker: docker.Docker{Runner: tool.Runner{}}, Dir: folder}.installTools(t.Context())
				},
			} {
				_ = os.Remove(ran)
				if tc.allowed {
					g.Expect(install()).To(Succeed())
					g.Expect(ran).To(BeARegularFile())
					continue
				}
				g.Expect(install()).To(MatchError(And(ContainSubstring("apt-get install "+program), ContainSubstring("INSTALL=1"))))
				g.Expect(ran).NotTo(BeAnExistingFile())
			}
		})
	}
}
