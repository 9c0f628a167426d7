// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package binaries

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/faultline-io/faultline/e2e/offline/programs"
)

// repository creates a repository whose etcd and provider are programs of a few lines that print word, so that they build quickly.
func repository(t *testing.T, word string) *Builder {
	t.Helper()
	root := t.TempDir()
	write(t, root, "go.work", "go 1.26.0\n")
	write(t, root, "e2e/go.mod", "module example.test/e2e\n\ngo 1.26.0\n")
	for folder, requires := range map[string]string{"e2e/offline/build/etcd": etcdModule, "providers/example": ""} {
		write(t, root, folder+"/go.mod", "module example.test/program\n\ngo 1.26.0\n"+requires)
		write(t, root, folder+"/go.sum", "")
		prints(t, root, folder, word)
	}
	write(t, root, "server/go.mod", "module go.etcd.io/etcd/server/v3\n\ngo 1.26.0\n")
	return &Builder{Root: root, Cache: t.TempDir(), Progress: &strings.Builder{}}
}

// etcdModule is required only for its version.
const etcdModule = "\nrequire go.etcd.io/etcd/server/v3 v3.6.14\n\nreplace go.etcd.io/etcd/server/v3 => ../../../../server\n"

func prints(t *testing.T, root, folder, word string) {
	t.Helper()
	write(t, root, folder+"/main.go", fmt.Sprintf("package main\n\nfunc main() { print(%q) }\n", word))
}

func write(t *testing.T, root, path, content string) {
	t.Helper()
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// runProgram runs the named program through Ensure and returns its output.
func runProgram(t *testing.T, b *Builder, name string) string {
	t.Helper()
	paths, err := b.Ensure(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), paths[name]).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func progress(b *Builder) string { return b.Progress.(*strings.Builder).String() }

func TestEnsureBuildsOnce(t *testing.T) {
	b := repository(t, "one")
	if got := runProgram(t, b, Etcd); got != "one" {
		t.Fatalf("the built program prints %q", got)
	}
	if got := runProgram(t, b, Etcd); got != "one" || strings.Count(progress(b), "built etcd") != 1 {
		t.Fatalf("it prints %q after\n%s", got, progress(b))
	}
}

func TestEnsureRebuildsChangedSources(t *testing.T) {
	b := repository(t, "one")
	runProgram(t, b, Etcd)
	prints(t, b.Root, "e2e/offline/build/etcd", "two")
	if got := runProgram(t, b, Etcd); got != "two" {
		t.Fatalf("the program was not built again: it prints %q", got)
	}
	write(t, b.Root, "e2e/offline/build/etcd/go.sum", "\n")
	runProgram(t, b, Etcd)
	if n := strings.Count(progress(b), "built etcd"); n != 3 {
		t.Fatalf("built %d times, want 3:\n%s", n, progress(b))
	}
}

func TestEnsureRebuildsDeletedProgram(t *testing.T) {
	b := repository(t, "one")
	runProgram(t, b, Etcd)
	paths, err := b.Ensure(t.Context(), Etcd)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(paths[Etcd]); err != nil {
		t.Fatal(err)
	}
	if got := runProgram(t, b, Etcd); got != "one" {
		t.Fatalf("it prints %q", got)
	}
}

func TestEnsureRebuildsChangedProvider(t *testing.T) {
	b := repository(t, "one")
	runProgram(t, b, Provider("example"))
	prints(t, b.Root, "providers/example", "two")
	if got := runProgram(t, b, Provider("example")); got != "two" {
		t.Fatalf("it prints %q", got)
	}
}

func TestEnsureSkipsLinkingUpToDateProvider(t *testing.T) {
	b := repository(t, "one")
	ensured := func() os.FileInfo {
		t.Helper()
		runProgram(t, b, Provider("example"))
		info, err := os.Stat(filepath.Join(b.Dir(), Provider("example")))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := ensured()
	if !os.SameFile(first, ensured()) {
		t.Error("it was linked again")
	}
	if _, err := os.Stat(filepath.Join(b.Dir(), Provider("example")+".new")); err == nil {
		t.Error("a file is left over")
	}
	prints(t, b.Root, "providers/example", "two")
	if os.SameFile(first, ensured()) {
		t.Error("the program that may run was written to")
	}
}

func TestEnsureConcurrently(t *testing.T) {
	b := repository(t, "one")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			mine := &Builder{Root: b.Root, Cache: b.Cache}
			if got := runProgram(t, mine, Etcd); got != "one" {
				t.Errorf("it prints %q", got)
			}
		})
	}
	all.Wait()
}

func TestEnsurePrefersAssets(t *testing.T) {
	b := repository(t, "built")
	b.Assets = t.TempDir()
	write(t, b.Assets, Etcd, "#!/bin/sh\nprintf ready\n")
	if got := runProgram(t, b, Etcd); got != "ready" {
		t.Fatalf("it prints %q", got)
	}
}

func TestEnsureCompletesAssets(t *testing.T) {
	b := repository(t, "built")
	b.Assets = t.TempDir()
	for _, name := range []string{APIServer, Scheduler, Kubectl} {
		write(t, b.Assets, name, "#!/bin/sh\nprintf ready\n")
	}
	if _, err := b.Ensure(t.Context(), Assets()...); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{Etcd: "built", APIServer: "ready", Scheduler: "ready", Kubectl: "ready"} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(b.Dir(), name)).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s in the folder for envtest prints %q, want %q: %v", name, out, want, err)
		}
	}
}

func TestEnsureIgnoresOutdatedAssets(t *testing.T) {
	b := repository(t, "one")
	runProgram(t, b, Etcd)
	runProgram(t, b, Provider("example"))
	b.Assets = b.Dir() + "/"
	prints(t, b.Root, "e2e/offline/build/etcd", "two")
	prints(t, b.Root, "providers/example", "two")
	for _, name := range []string{Etcd, Provider("example")} {
		if got := runProgram(t, b, name); got != "two" {
			t.Errorf("with the cache as folder of assets %s prints %q", name, got)
		}
	}
	b.Assets = t.TempDir()
	write(t, b.Assets, Provider("example"), "#!/bin/sh\nprintf old\n")
	if got := runProgram(t, b, Provider("example")); got != "two" {
		t.Errorf("a provider was taken from the assets: it prints %q", got)
	}
}

func TestEnsureShowsCompilerErrors(t *testing.T) {
	b := repository(t, "one")
	write(t, b.Root, "e2e/offline/build/etcd/main.go", "package main\n\nfunc main() { nonsense() }\n")
	_, err := b.Ensure(t.Context(), Etcd)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Fatalf("got error %v", err)
	}
	left, err := filepath.Glob(filepath.Join(b.Cache, "bin", Etcd, "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("a failed build left %q (%v)", left, err)
	}
}

func TestEnsureRejectsUnknownNames(t *testing.T) {
	b := repository(t, "one")
	for _, name := range []string{"etcdd", Provider("unheard-of")} {
		if _, err := b.Ensure(t.Context(), name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestFindRoot(t *testing.T) {
	b := repository(t, "one")
	got, err := findRoot(filepath.Join(b.Root, "e2e", "offline", "build", "etcd"))
	if err != nil || got != b.Root {
		t.Fatalf("got %s, %v; want %s", got, err, b.Root)
	}
	if _, err := findRoot(t.TempDir()); err == nil {
		t.Fatal("a folder outside any repository was accepted")
	}
}

// Programs report the version of their module, which the documentation takes from the constants.
func TestBuiltVersionsAreThoseOfTheConstants(t *testing.T) {
	b, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		programs.KubernetesFolder: programs.KubernetesModule + " " + KubernetesVersion, programs.EtcdFolder: programs.EtcdModule + " " + EtcdVersion,
	} {
		pinned, err := os.ReadFile(filepath.Join(b.Root, folder, "go.mod"))
		if err != nil || !regexp.MustCompile(regexp.QuoteMeta(want)+"( // indirect)?\n").Match(pinned) {
			t.Errorf("%s does not require %s (%v)", folder, want, err)
		}
	}
}
