// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// toolchain is the version of Go that builds, and what it builds for.
func (b *Builder) toolchain(ctx context.Context) (string, error) {
	out, err := b.goCommand(ctx, "e2e", "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", fmt.Errorf("asking for the version of Go: %w\n%s", err, out)
	}
	return strings.Join(strings.Fields(out), " "), nil
}

// stale answers the recipes whose program must be built. A program that was built
// from these sources by this toolchain has a stamp that says so.
func (b *Builder) stale(recipes []recipe, toolchain string) ([]recipe, error) {
	var stale []recipe
	for _, r := range recipes {
		fresh, err := b.fresh(r, toolchain)
		if err != nil {
			return nil, err
		}
		if !fresh {
			stale = append(stale, r)
		}
	}
	return stale, nil
}

func (b *Builder) fresh(r recipe, toolchain string) (bool, error) {
	if r.always {
		return false, nil
	}
	want, err := b.sourceSum(r, toolchain)
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(filepath.Join(b.Dir(), r.name)); err != nil {
		return false, nil //nolint:nilerr // A missing program is what a build is for.
	}
	have, err := os.ReadFile(b.stampPath(r))
	return err == nil && string(have) == want, nil
}

func (b *Builder) stampPath(r recipe) string {
	return filepath.Join(b.Dir(), "."+r.name+".stamp")
}

// sourceSum identifies everything a program is made of: go.mod and go.sum pin its
// modules, the module's own files are few, and the flags come from the recipe.
func (b *Builder) sourceSum(r recipe, toolchain string) (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, toolchain, r.pkg, r.ldflags("<version>"))
	if r.version != "" { // The version pins its go.mod and go.sum.
		_, _ = fmt.Fprintln(hash, r.version)
		return hex.EncodeToString(hash.Sum(nil)), nil
	}
	folder := filepath.Join(b.Root, filepath.FromSlash(r.folder))
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	for _, file := range append(files, filepath.Join(folder, "go.mod"), filepath.Join(folder, "go.sum")) {
		if err := addFile(hash, file); err != nil {
			return "", fmt.Errorf("identifying the sources of %s: %w", r.name, err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func addFile(w io.Writer, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w, filepath.Base(path), len(content))
	_, err = w.Write(content)
	return err
}
