// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/faultline-io/faultline/e2e/tool"
)

// toolchain returns the Go version that builds, and its target.
func (b *Builder) toolchain(ctx context.Context) (string, error) {
	out, err := b.module("e2e").Go(ctx, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", fmt.Errorf("reading the version of Go: %w", err)
	}
	return strings.Join(strings.Fields(out), " "), nil
}

// sourceSum identifies everything a program is made of: go.mod and go.sum pin its modules, the module's own files are few, and the recipe
// has the flags.
func (b *Builder) sourceSum(r tool.Recipe, toolchain string) (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, toolchain, buildFlags(""), r.Package, r.Flags("<version>"))
	if r.Version != "" { // The version pins its go.mod and go.sum.
		_, _ = fmt.Fprintln(hash, r.Version)
		return hex.EncodeToString(hash.Sum(nil)), nil
	}
	folder := filepath.Join(b.Root, filepath.FromSlash(r.Folder))
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	for _, file := range append(files, filepath.Join(folder, "go.mod"), filepath.Join(folder, "go.sum")) {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("identifying the sources of %s: %w", r.Name, err)
		}
		_, _ = fmt.Fprintln(hash, filepath.Base(file), len(content))
		_, _ = hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
