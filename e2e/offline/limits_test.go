// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package offline

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestRaiseOnlyLowLimits(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	instances, watches := filepath.Join(root, "fs/inotify/max_user_instances"), filepath.Join(root, "fs/inotify/max_user_watches")
	g.Expect(os.MkdirAll(filepath.Dir(instances), 0o755)).To(Succeed())
	g.Expect(os.WriteFile(instances, []byte("128\n"), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(watches, []byte("9999999\n"), 0o600)).To(Succeed())
	g.Expect(raise(root)).To(BeEmpty())
	g.Expect(os.ReadFile(instances)).To(BeEquivalentTo("8192"))
	g.Expect(os.ReadFile(watches)).To(BeEquivalentTo("9999999\n"))
	g.Expect(raise(t.TempDir())).To(BeEmpty())
}
