// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/faultline-io/faultline/e2e/tool"
)

// reportEvery is how often a long build reports that it is still running.
const reportEvery = 30 * time.Second

// provide builds one program. It replaces an old file atomically, so a process that starts the program meanwhile runs either version.
func (b *Builder) provide(ctx context.Context, p program) error {
	fresh := p.path + ".new"
	if err := b.build(ctx, p, fresh); err != nil {
		return errors.Join(b.advise(err), os.RemoveAll(fresh))
	}
	if err := os.Rename(fresh, p.path); err != nil {
		return fmt.Errorf("installing %s: %w", p.Name, err)
	}
	return os.RemoveAll(fresh) // If both names refer to one file, renaming leaves both.
}

// advise adds how to fix a full disk or a missing network to the error.
func (b *Builder) advise(err error) error {
	for _, sign := range []string{"dial tcp", "no such host", "connection refused", "i/o timeout", "TLS handshake timeout"} {
		if strings.Contains(err.Error(), sign) {
			return fmt.Errorf("%w\nGo modules cannot be downloaded: connect this machine to a network, or set GOPROXY to a proxy that it reaches", err)
		}
	}
	if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		return fmt.Errorf("%w\nThe disk is full: free 10 GB, or set %s, GOCACHE and TMPDIR to folders of another disk", err, CacheVariable)
	}
	return err
}

func (b *Builder) build(ctx context.Context, p program, fresh string) error {
	version, err := b.moduleVersion(ctx, p.Recipe)
	if err != nil {
		return err
	}
	defer b.announce(p.Recipe, p.path)()
	if p.Ours {
		_ = os.Link(p.path, fresh) // Go keeps an up-to-date file, which saves linking it, and replaces an outdated one.
	}
	if err := b.compile(ctx, p.Recipe, version, fresh); err != nil {
		return fmt.Errorf("building %s: %w", p.Source(), err)
	}
	return nil
}

func buildFlags(ldflags string) []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", strings.TrimSpace("-s -w " + ldflags)}
}

// compile builds one program into the file fresh. go installs a published module only into its own folder.
func (b *Builder) compile(ctx context.Context, r tool.Recipe, version, fresh string, env ...string) (err error) {
	flags := buildFlags(r.Flags(version))
	if r.Version == "" {
		_, err := b.module(r.Folder, env...).Go(ctx, append([]string{"build", "-o", fresh}, append(flags, r.Package)...)...)
		return err
	}
	folder := fresh + ".d"
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	args := append([]string{"install"}, append(flags, r.Package+"@"+r.Version)...)
	if _, err := b.module("", append(env, "GOBIN="+folder)...).Go(ctx, args...); err != nil {
		return err
	}
	return os.Rename(filepath.Join(folder, filepath.Base(r.Package)), fresh)
}

// Cross builds programs of ours for an architecture of Linux into a folder, without the cache of programs. They report the release in
// ReleaseVariable.
func (b *Builder) Cross(ctx context.Context, arch, folder string, names ...string) (Paths, error) {
	paths := Paths{}
	for _, name := range names {
		r, err := b.recipe(name)
		if err != nil {
			return nil, err
		}
		if !r.Ours {
			return nil, fmt.Errorf("building %s for %s: it is not a program of this repository", name, arch)
		}
		paths[name] = filepath.Join(folder, name)
		done := b.announce(r, "")
		err = b.compile(ctx, r, "", paths[name], "GOOS=linux", "GOARCH="+arch)
		done()
		if err != nil {
			return nil, fmt.Errorf("building %s for %s: %w", name, arch, err)
		}
	}
	return paths, nil
}

// announce reports that a build began and, until the returned function is called, that it is still running. A provider that was built
// before is up to date in a second or two and gets no line unless it takes longer.
func (b *Builder) announce(r tool.Recipe, path string) (done func()) {
	began := time.Now()
	_, err := os.Stat(path)
	quiet := r.Ours && err == nil
	if !quiet {
		b.progressf("building %s (takes about %s the first time)", r.Name, approximately(r.Estimate))
	}
	ended := make(chan struct{})
	go func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				b.progressf("still building %s (%s)", r.Name, time.Since(began).Round(time.Second))
			}
		}
	}()
	return func() {
		close(ended)
		if took := time.Since(began).Round(time.Second); !quiet || took > 5*time.Second {
			b.progressf("built %s in %s", r.Name, took)
		}
	}
}

// approximately formats a duration for people: "30 s", "3 min".
func approximately(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}

func (b *Builder) progressf(format string, args ...any) {
	if b.Progress != nil {
		_, _ = fmt.Fprintf(b.Progress, format+"\n", args...)
	}
}

// moduleVersion returns the version that the program must report.
func (b *Builder) moduleVersion(ctx context.Context, r tool.Recipe) (string, error) {
	if r.Module == "" || r.Version != "" {
		return r.Version, nil
	}
	out, err := b.module(r.Folder).Go(ctx, "list", "-m", "-f", "{{.Version}}", r.Module)
	if err != nil {
		return "", fmt.Errorf("reading the version of %s: %w", r.Module, err)
	}
	return strings.TrimSpace(out), nil
}

// module returns a module of the repository.
func (b *Builder) module(folder string, env ...string) tool.Module {
	return tool.Module{Folder: filepath.Join(b.Root, filepath.FromSlash(folder)), Env: env}
}
