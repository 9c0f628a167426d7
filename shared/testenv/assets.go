// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// assetsVariable is defined by envtest. It names the folder with etcd, kube-apiserver, kube-scheduler and kubectl.
const assetsVariable = "KUBEBUILDER_ASSETS"

// goFlags are those of the Makefile, so that what it compiles is not compiled again.
const goFlags = "-buildvcs=false -trimpath -gcflags=all=-dwarf=false"

var findAssets = sync.OnceValues(buildAssets) //nolint:gochecknoglobals // once for a process

// Assets returns the folder with etcd, kube-apiserver, kube-scheduler and kubectl: the given one, otherwise the one in
// KUBEBUILDER_ASSETS, otherwise that of this repository. It builds missing programs there, which takes minutes and is reported on
// the terminal.
func Assets(given string) (string, error) {
	if folder := cmp.Or(given, os.Getenv(assetsVariable)); folder != "" {
		return folder, nil
	}
	return findAssets()
}

func buildAssets() (string, error) {
	root, err := repository()
	if err != nil {
		return "", fmt.Errorf("%w: set %s to a folder with etcd, kube-apiserver, kube-scheduler and kubectl", err, assetsVariable)
	}
	var folder, progress bytes.Buffer
	cmd := exec.CommandContext(context.Background(), "go", "run", "./cmd/binaries", "--assets", "--print-path")
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(root, "e2e"), &folder, io.MultiWriter(&progress, terminal())
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+goFlags, "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building the API server for tests: %w\n%s", err, progress.Bytes())
	}
	return string(bytes.TrimSpace(folder.Bytes())), nil
}

// terminal returns the terminal of the user: `go test` withholds the output of tests of several packages until they end.
func terminal() io.Writer {
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return io.Discard
	}
	return tty
}

// repository returns the closest folder, from the working directory upwards, that contains go.work.
func repository() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for ; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.work")); err == nil {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("no folder above the working directory has go.work")
		}
	}
}
