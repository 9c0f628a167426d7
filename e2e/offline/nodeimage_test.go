// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package offline

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/docker"
)

func TestReplaceLines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const config = "[plugins]\n  # use fixed sandbox image\n  sandbox_image = \"a\"\n  other = 1\n"
	got, err := replaceLines(config, map[string]string{"sandbox_image": `  sandbox_image = "b"`})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(strings.Replace(config, `"a"`, `"b"`, 1)))
	_, err = replaceLines(config, map[string]string{"gone": ""})
	g.Expect(err).To(MatchError(ContainSubstring("gone")))
}

func TestWithHook(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got, err := withHook([]byte(`{"process":{"args":["x"],"rlimits":[{"type":"RLIMIT_NOFILE"}]}}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(MatchJSON(`{"process":{"args":["x"]},"hooks":{"createContainer":[{"path":"/kind/bin/mount-product-files.sh"}]}}`))
}

func TestLibraries(t *testing.T) {
	t.Parallel()
	const ldd = "/usr/sbin/xtables-nft-multi:\n\tlinux-vdso.so.1 (0x00)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x00)\n" +
		"\t/lib64/ld.so (0x00)\n/usr/lib/x.so:\n\tlibc.so.6 => /lib/x/libc.so.6 (0x01)\n"
	NewWithT(t).Expect(libraries(ldd)).To(Equal([]string{"/lib/x/libc.so.6", "/lib64/ld.so"}))
}

func TestFilesOfRootFollowLinksInIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	g.Expect(os.MkdirAll(filepath.Join(root, "usr/lib"), 0o755)).To(Succeed())
	for link, target := range map[string]string{
		"lib": "usr/lib", "usr/lib/a.so": "/lib/a.so.1", "usr/lib/a.so.1": "a.so.1.2", "loop": "loop",
	} {
		g.Expect(os.Symlink(target, filepath.Join(root, link))).To(Succeed())
	}
	files, err := fromRoot(root, []string{"/lib/a.so"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(ConsistOf(docker.File{Path: "/lib/a.so", From: filepath.Join(root, "usr/lib/a.so.1.2"), Mode: 0o755}))
	_, err = fromRoot(root, []string{"/loop"})
	g.Expect(err).To(MatchError(syscall.ELOOP))
}

func TestRemoveSurplus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	wants := filepath.Join(root, "etc/systemd/system/multi-user.target.wants")
	g.Expect(os.MkdirAll(wants, 0o755)).To(Succeed())
	g.Expect(os.Symlink("/x", filepath.Join(wants, "cron.service"))).To(Succeed())
	kept := filepath.Join(root, "etc/systemd/system/own.service")
	g.Expect(os.WriteFile(kept, nil, 0o600)).To(Succeed())
	g.Expect(removeSurplus(root)).To(Succeed())
	g.Expect(os.ReadDir(wants)).To(BeEmpty())
	g.Expect(kept).To(BeARegularFile())
}
