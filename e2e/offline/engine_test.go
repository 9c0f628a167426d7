// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package offline

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/tool"
)

func TestStartedEngineUsesBoundedRunc(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := Engine{Dir: "/cache", BoundedRunc: func(context.Context) (string, error) { return "/clone/bounded-runc", nil }}
	args, err := e.arguments(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(args).To(Equal([]string{
		"--pidfile", "/cache/dockerd.pid", "--add-runtime", "bounded=/clone/bounded-runc", "--default-runtime", "bounded",
	}))
}

func TestStartable(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		host host
		want string // part of the advice; "" if an engine can be started
	}{
		"Debian in a container":  {host{root: true, apt: true}, ""},
		"installed, no systemd":  {host{root: true, engine: true}, ""},
		"installed, systemd":     {host{root: true, engine: true, systemd: true}, ""},
		"not root, systemd":      {host{engine: true, systemd: true}, "systemctl start docker"},
		"not root":               {host{apt: true}, "as root"},
		"another distribution":   {host{root: true}, "docs.docker.com"},
		"installed but not root": {host{engine: true}, "as root"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			err := startable(tc.host)
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// TestEngineOfDeletedCloneIsReported has a docker that responds, with one of our runtimes.
func TestEngineOfDeletedCloneIsReported(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	there := filepath.Join(folder, "docker")
	for name, tc := range map[string]struct{ runtime, want string }{
		"none of ours": {"", ""},
		"there":        {there, ""},
		"gone":         {filepath.Join(folder, "gone"), "kill $(pidof dockerd)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(os.WriteFile(there, []byte("#!/bin/sh\necho "+tc.runtime+"\n"), 0o700)).To(Succeed())
			err := Engine{Dir: folder, Run: tool.Runner{Log: io.Discard}}.Ensure(t.Context())
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// A file with the ID of another process must not make Stop end that process.
func TestStopKeepsOtherProcesses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := Engine{Dir: t.TempDir()}
	g.Expect(e.Stop(t.Context())).To(Succeed())
	own := strconv.Itoa(os.Getpid())
	g.Expect(os.WriteFile(filepath.Join(e.Dir, "dockerd.pid"), []byte(own), 0o600)).To(Succeed())
	g.Expect(e.Stop(t.Context())).To(Succeed())
	g.Expect(os.WriteFile(e.pidFile(), []byte("x"), 0o600)).To(Succeed())
	g.Expect(e.Stop(t.Context())).NotTo(Succeed())
}
