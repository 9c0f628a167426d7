// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockRetry is how often a lock that another process holds is tried again. flock
// has no form that waits and can be interrupted.
const lockRetry = 200 * time.Millisecond

// lock takes the cache's lock, which the system gives back when its holder dies.
// It waits for another holder until ctx ends.
func (b *Builder) lock(ctx context.Context) (unlock func() error, err error) {
	if err := os.MkdirAll(b.Dir(), 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	path := filepath.Join(b.Dir(), ".lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the cache: %w", err)
	}
	tick := time.NewTicker(lockRetry)
	defer tick.Stop()
	for said := false; ; said = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
		}
		if !said {
			b.progressf("waiting for another build to end (it holds %s)", path)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-tick.C:
		}
	}
}
