// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// reportEvery is how often a build that takes long says that it still runs.
const reportEvery = 30 * time.Second

// build builds one program. The file replaces the old one in a single step, so
// that whoever starts it meanwhile gets the one or the other.
func (b *Builder) build(ctx context.Context, r recipe, toolchain string) error {
	sum, err := b.sourceSum(r, toolchain)
	if err != nil {
		return err
	}
	version, err := b.moduleVersion(ctx, r)
	if err != nil {
		return err
	}
	path := filepath.Join(b.Dir(), r.name)
	fresh := path + ".new"
	defer b.announce(r, path)()
	if out, err := b.compile(ctx, r, version, fresh); err != nil {
		return errors.Join(fmt.Errorf("building %s: %w\n%s", r.source(), err, lastLines(out, 30)), os.RemoveAll(fresh))
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("installing %s: %w", r.name, err)
	}
	if r.always {
		return nil
	}
	return os.WriteFile(b.stampPath(r), []byte(sum), 0o600)
}

// compile builds one program into the file fresh. A published module is installed
// as it is, which go does only into a folder of its own.
func (b *Builder) compile(ctx context.Context, r recipe, version, fresh string) (out string, err error) {
	flags := []string{"-trimpath", "-buildvcs=false", "-ldflags", strings.TrimSpace("-s -w " + r.ldflags(version))}
	if r.version == "" {
		return b.goCommand(ctx, r.folder, append([]string{"build", "-o", fresh}, append(flags, r.pkg)...)...)
	}
	folder := fresh + ".d"
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	args := append([]string{"install"}, append(flags, r.pkg+"@"+r.version)...)
	if out, err = b.goWith(ctx, "", []string{"GOBIN=" + folder}, args...); err != nil {
		return out, err
	}
	return "", os.Rename(filepath.Join(folder, filepath.Base(r.pkg)), fresh)
}

// announce tells that a build began and, until the returned function is called,
// that it goes on. A provider that was built before is up to date in a second or
// two and gets no line of its own unless it takes longer.
func (b *Builder) announce(r recipe, path string) (done func()) {
	began := time.Now()
	_, err := os.Stat(path)
	quiet := r.always && err == nil
	if !quiet {
		b.progressf("building %s (about %s the first time)", r.name, approximately(r.estimate))
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
				b.progressf("still building %s (%s)", r.name, time.Since(began).Round(time.Second))
			}
		}
	}()
	return func() {
		close(ended)
		if took := time.Since(began).Round(time.Second); !quiet || took > 5*time.Second {
			b.progressf("built %s in %s", r.name, took)
		}
	}
}

// approximately words a duration for people: "30 s", "3 min".
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

// moduleVersion is the version that the program is to report.
func (b *Builder) moduleVersion(ctx context.Context, r recipe) (string, error) {
	if r.module == "" || r.version != "" {
		return r.version, nil
	}
	out, err := b.goCommand(ctx, r.folder, "list", "-m", "-f", "{{.Version}}", r.module)
	if err != nil {
		return "", fmt.Errorf("reading the version of %s: %w\n%s", r.module, err, out)
	}
	return strings.TrimSpace(out), nil
}

// goCommand runs go in a module of the repository, alone and without cgo, so that
// the result does not depend on the machine's C library. It answers what was
// written to standard output, and on an error what was written to either.
func (b *Builder) goCommand(ctx context.Context, folder string, args ...string) (string, error) {
	return b.goWith(ctx, folder, nil, args...)
}

func (b *Builder) goWith(ctx context.Context, folder string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.Root, filepath.FromSlash(folder))
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0"), env...)
	// A build asked to stop gets a moment to clean up what it was writing.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String() + stderr.String(), errors.Join(ctx.Err(), err)
	}
	return stdout.String(), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
