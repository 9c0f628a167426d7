// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// TryLock locks a file, which it creates if necessary. It returns nil if another process holds the lock.
func TryLock(path string) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() error {
			// Closing the file is not sufficient: a child process that this one starts at the same time has it open until its program begins.
			return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
		}, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, file.Close()
	}
	return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
}
