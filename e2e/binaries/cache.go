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

// CacheVariable names the folder in which programs of others are kept for all clones of the repository on this machine. Without it
// that is a folder of the user's cache.
const CacheVariable = "FAULTLINE_CACHE"

const (
	// lockRetry is how often a lock that another process holds is tried again. flock has no form that waits and can be
	// interrupted.
	lockRetry = 200 * time.Millisecond
	// unusedFor is how long a program of another version or recipe is kept after its last use.
	unusedFor = 60 * 24 * time.Hour
	// keyLength is enough of a sum to tell recipes of one program apart.
	keyLength = 16
)

// program is a program with the file it belongs into.
type program struct {
	tool.Recipe

	path string
	// lock is the file that whoever makes the program locks. Every program has its own, so that nobody waits for another.
	lock string
}

// sharedCache is the folder for what all clones share. A user without a home keeps it in the clone.
func sharedCache(root string) (string, error) {
	if folder := os.Getenv(CacheVariable); folder != "" {
		return filepath.Abs(folder)
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(root, ".cache", "shared"), nil //nolint:nilerr // Only a place is missing, and there is another.
	}
	return filepath.Join(folder, "faultline"), nil
}

// program says where a recipe's program belongs. Programs of others are in the shared cache, in a folder for each version and
// recipe, so that clones at different commits do not replace each other's. Ours belong to the clone that has their sources.
func (b *Builder) program(r tool.Recipe, t toolchain) (program, error) {
	if r.Ours {
		return program{Recipe: r, path: filepath.Join(b.Dir(), r.Name), lock: filepath.Join(b.Dir(), "."+r.Name+".lock")}, nil
	}
	sum, err := b.sourceSum(r, t)
	if err != nil {
		return program{}, err
	}
	folder := filepath.Join(b.Cache, "bin", r.Name, sum[:keyLength])
	return program{Recipe: r, path: filepath.Join(folder, r.Name), lock: folder + ".lock"}, nil
}

// ready reports whether there is nothing to do for a program. Go knows better than we do whether sources of ours changed.
func (p program) ready() bool { return !p.Ours && executable(p.path) }

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// make builds or downloads a program under its lock. Where another process holds that and wait is false, it returns false. It looks
// again under the lock, because whoever held it before has made the same.
func (b *Builder) make(ctx context.Context, p program, t toolchain, wait bool) (done bool, err error) {
	unlock, err := b.lock(ctx, p, wait)
	if err != nil || unlock == nil {
		return false, err
	}
	if !p.ready() {
		err = b.provide(ctx, p, t)
	}
	return true, errors.Join(err, unlock())
}

// lock locks a program. Without wait it returns nil if another process has it.
func (b *Builder) lock(ctx context.Context, p program, wait bool) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(p.path), 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w: set %s to a folder that can be written to", err, CacheVariable)
	}
	unlock, err = tool.TryLock(p.lock)
	if err != nil || unlock != nil || !wait {
		return unlock, err
	}
	b.progressf("waiting for another process that builds %s (it holds %s)", p.Name, p.lock)
	err = apiwait.PollUntilContextCancel(ctx, lockRetry, false, func(context.Context) (bool, error) {
		unlock, err = tool.TryLock(p.lock)
		return unlock != nil, err
	})
	return unlock, err
}

// link lets the clone's folder of programs show a program that is elsewhere.
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

// used notes that a program is in use, and removes those of its other versions and recipes that have not been for long. Neither
// matters to whoever asked for the program.
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
