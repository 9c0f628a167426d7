// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apiwait "k8s.io/apimachinery/pkg/util/wait"

	"github.com/faultline-io/faultline/e2e/tool"
)

// CacheVariable names the folder with the third-party programs of all clones of the repository on this machine. It defaults to a folder
// in the user's cache.
const CacheVariable = "FAULTLINE_CACHE"

const (
	// lockRetry is how often to retry a lock that another process holds. flock has no blocking form that can be interrupted.
	lockRetry = 200 * time.Millisecond
	// unusedFor is how long a program of another version or recipe is kept after its last use.
	unusedFor = 60 * 24 * time.Hour
	// keyLength is the length of a checksum prefix that distinguishes recipes of one program.
	keyLength = 16
)

// program is a program with the path of its file.
type program struct {
	tool.Recipe

	path string
	// lock is the lock file of the program. Each program has its own, so that no process waits for an unrelated program.
	lock string
}

// sharedCache returns the folder that all clones share. It is in the clone if the user has no home.
func sharedCache(root string) (string, error) {
	if folder := os.Getenv(CacheVariable); folder != "" {
		return filepath.Abs(folder)
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(root, ".cache", "shared"), nil //nolint:nilerr // Without a home directory, the cache is in the repository.
	}
	return filepath.Join(folder, "faultline"), nil
}

// program returns where the program of a recipe is stored. Third-party programs are in the shared cache, in a folder for each version and
// recipe, so that clones at different commits do not replace each other's programs. Ours are stored in the clone that has their sources.
func (b *Builder) program(r tool.Recipe, toolchain string) (program, error) {
	if r.Ours {
		return program{Recipe: r, path: filepath.Join(b.Dir(), r.Name), lock: filepath.Join(b.Dir(), "."+r.Name+".lock")}, nil
	}
	sum, err := b.sourceSum(r, toolchain)
	if err != nil {
		return program{}, err
	}
	folder := filepath.Join(b.Cache, "bin", r.Name, sum[:keyLength])
	return program{Recipe: r, path: filepath.Join(folder, r.Name), lock: folder + ".lock"}, nil
}

// ready reports whether a program is up to date. Ours never are, because Go detects changed sources better than we can.
func (p program) ready() bool { return !p.Ours && executable(p.path) }

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// make builds a program under its lock. It checks again under the lock, because a previous holder may have made
// the same program.
func (b *Builder) make(ctx context.Context, p program) error {
	unlock, err := b.lock(ctx, p)
	if err != nil {
		return err
	}
	if !p.ready() {
		err = b.provide(ctx, p)
	}
	return errors.Join(err, unlock())
}

// lock locks a program. It waits while another process holds the lock.
func (b *Builder) lock(ctx context.Context, p program) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(p.path), 0o755); err != nil {
		return nil, fmt.Errorf("creating the cache: %w: set %s to a writable directory", err, CacheVariable)
	}
	if unlock, err = tool.TryLock(p.lock); err != nil || unlock != nil {
		return unlock, err
	}
	b.progressf("waiting for another process that builds %s (it holds the lock %s)", p.Name, p.lock)
	err = apiwait.PollUntilContextCancel(ctx, lockRetry, false, func(context.Context) (bool, error) {
		unlock, err = tool.TryLock(p.lock)
		return unlock != nil, err
	})
	return unlock, err
}

// link links a program into the clone's folder of programs.
func (b *Builder) link(name, target string) error {
	if err := os.MkdirAll(b.Dir(), 0o755); err != nil {
		return err
	}
	path := filepath.Join(b.Dir(), name)
	if have, err := os.Readlink(path); err == nil && have == target {
		return nil
	}
	fresh := fmt.Sprintf("%s.%d.new", path, os.Getpid())
	if err := errors.Join(os.RemoveAll(fresh), os.Symlink(target, fresh)); err != nil {
		return fmt.Errorf("linking %s: %w", name, err)
	}
	return os.Rename(fresh, path)
}

// used records that a program is in use, and removes other versions and recipes of it that have been unused for long. Errors are ignored,
// because callers only need the program.
func (b *Builder) used(p program) {
	mine := filepath.Dir(p.path)
	now := time.Now()
	_ = os.Chtimes(mine, now, now)
	others, err := os.ReadDir(filepath.Dir(mine))
	if err != nil {
		return
	}
	for _, other := range others {
		path := filepath.Join(filepath.Dir(mine), other.Name())
		info, err := other.Info()
		if err == nil && other.IsDir() && path != mine && now.Sub(info.ModTime()) > unusedFor {
			_ = os.RemoveAll(path)
		}
	}
}
