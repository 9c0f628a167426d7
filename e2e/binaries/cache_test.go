// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clone returns another clone of the repository on the same machine.
func clone(t *testing.T, b *Builder, word string) *Builder {
	t.Helper()
	other := repository(t, word)
	other.Cache = b.Cache
	return other
}

func TestClonesOfSameSourcesSharePrograms(t *testing.T) {
	one := repository(t, "word")
	runProgram(t, one, Etcd)
	two := clone(t, one, "word")
	if got := runProgram(t, two, Etcd); got != "word" || progress(two) != "" {
		t.Fatalf("it prints %q after\n%s", got, progress(two))
	}
	if linked, err := os.ReadFile(filepath.Join(two.Dir(), Etcd)); err != nil || len(linked) == 0 {
		t.Errorf("the clone's folder does not show the program: %v", err)
	}
}

func TestClonesAtDifferentCommitsKeepTheirPrograms(t *testing.T) {
	one := repository(t, "one")
	runProgram(t, one, Etcd)
	two := clone(t, one, "two")
	runProgram(t, two, Etcd)
	for range 2 {
		if got := runProgram(t, one, Etcd) + runProgram(t, two, Etcd); got != "onetwo" {
			t.Fatalf("they print %q", got)
		}
	}
	if built := strings.Count(progress(one)+progress(two), "built etcd"); built != 2 {
		t.Errorf("built %d times, want 2", built)
	}
}

func TestExistingProgramIsUsedDuringBuildOfAnother(t *testing.T) {
	b := repository(t, "one")
	runProgram(t, b, Etcd)
	recipe, err := b.recipe(Provider("example"))
	if err != nil {
		t.Fatal(err)
	}
	held, err := b.program(recipe, "")
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := b.lock(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	if got := runProgram(t, b, Etcd); got != "one" {
		t.Fatalf("it prints %q", got)
	}
	short, cancel := context.WithTimeout(t.Context(), 2*lockRetry)
	defer cancel()
	if err := b.make(short, held); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("making a program under another's lock ended with %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if got := runProgram(t, b, Provider("example")); got != "one" {
		t.Fatalf("it prints %q", got)
	}
}

func TestUnusedProgramsAreRemoved(t *testing.T) {
	b := repository(t, "one")
	runProgram(t, b, Etcd)
	old := time.Now().Add(-unusedFor - time.Hour)
	for name, used := range map[string]time.Time{"0123456789abcdef": old, "fedcba9876543210": time.Now()} {
		folder := filepath.Join(b.Cache, "bin", Etcd, name)
		write(t, folder, Etcd, "")
		if err := os.Chtimes(folder, used, used); err != nil {
			t.Fatal(err)
		}
	}
	runProgram(t, b, Etcd)
	left, err := filepath.Glob(filepath.Join(b.Cache, "bin", Etcd, "*", Etcd))
	if err != nil || len(left) != 2 || strings.Contains(fmt.Sprint(left), "0123456789abcdef") {
		t.Errorf("there are %q (%v)", left, err)
	}
}

func TestCacheDirectory(t *testing.T) {
	root := t.TempDir()
	t.Setenv(CacheVariable, "/else/where")
	if got, err := sharedCache(root); got != "/else/where" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	t.Setenv(CacheVariable, "")
	t.Setenv("XDG_CACHE_HOME", "/the/users")
	if got, err := sharedCache(root); filepath.Base(got) != "faultline" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if got, err := sharedCache(root); !strings.HasPrefix(got, root) || err != nil {
		t.Errorf("without a home: got %s, %v", got, err)
	}
}

func TestNetworkErrorHasAdvice(t *testing.T) {
	b := repository(t, "one")
	err := b.advise(fmt.Errorf("building etcd: exit status 1\ngo: dial tcp: lookup proxy.golang.org: no such host"))
	if !strings.HasSuffix(err.Error(), "or set GOPROXY to a proxy that it reaches") {
		t.Errorf("got error %v", err)
	}
}

func TestFullDiskErrorHasAdvice(t *testing.T) {
	b := repository(t, "one")
	err := b.advise(fmt.Errorf("building etcd: exit status 1\ncompile: writing output: no space left on device"))
	if !strings.Contains(err.Error(), "free 10 GB, or set FAULTLINE_CACHE") {
		t.Errorf("got error %v", err)
	}
	if err := b.advise(os.ErrExist); err != os.ErrExist { //nolint:errorlint // Must be the same error.
		t.Errorf("another error became %v", err)
	}
}
