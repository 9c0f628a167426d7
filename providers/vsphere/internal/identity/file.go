// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"
)

// File is the manager's own account: a YAML file with the keys username and password, and optionally servers, the vCenters for
// which the account is valid. It is read on each use, so a rotated Secret in a volume takes effect without a restart.
type File struct {
	Path string
	// OnChange, if set, is called after the file has changed, so that objects that wait for a valid account are reconciled.
	OnChange func()
}

// Account reads the file.
func (f *File) Account() (Account, error) {
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Account{}, fmt.Errorf("%w: the VSphereCluster has no spec.identityRef and the manager has no credentials file %s: %w", ErrNotUsable, f.Path, fs.ErrNotExist)
	}
	if err != nil {
		return Account{}, fmt.Errorf("reading credentials file: %w", err)
	}
	account := Account{}
	if err := yaml.Unmarshal(data, &account); err != nil {
		// The parser's message may contain the password.
		return Account{}, fmt.Errorf("%w: credentials file %s is not YAML with the keys %s and %s", ErrNotUsable, f.Path, UsernameKey, PasswordKey)
	}
	if account.Username == "" || account.Password == "" {
		return Account{}, fmt.Errorf("%w: credentials file %s must have non-empty keys %s and %s", ErrNotUsable, f.Path, UsernameKey, PasswordKey)
	}
	account.origin, account.managers = "credentials file "+f.Path, true
	return account, nil
}

// warn logs a warning if the account is not restricted to vCenters.
func (f *File) warn(ctx context.Context) {
	if account, err := f.Account(); err == nil && len(account.Servers) == 0 {
		log.FromContext(ctx).Info("Warning: the manager's account is not restricted to any vCenter, so every user who may create a VSphereCluster decides where it is sent: "+
			"list the vCenters as servers in the credentials file (variable VSPHERE_SERVERS)", "path", f.Path)
	}
}

// Start watches the file's directory until ctx ends. It watches the directory because a projected Secret is replaced by
// renaming a symlink.
func (f *File) Start(ctx context.Context) error {
	f.warn(ctx)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching %s: %w", f.Path, err)
	}
	defer func() { _ = watcher.Close() }()
	if err := watcher.Add(filepath.Dir(f.Path)); err != nil {
		log.FromContext(ctx).Info("Not watching credentials file: clusters must specify an identity", "path", f.Path, "reason", err.Error())
		<-ctx.Done()
		return nil
	}
	if f.OnChange != nil {
		f.OnChange() // for a change between the first read and this watch
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-watcher.Events:
			if ok && f.OnChange != nil {
				f.OnChange()
			}
		case err := <-watcher.Errors:
			if err != nil {
				log.FromContext(ctx).Error(err, "Watching the credentials file", "path", f.Path)
			}
		}
	}
}
