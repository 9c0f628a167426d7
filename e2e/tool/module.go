// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Module is a Go module. Log receives the output of commands, Env is added to their environment.
type Module struct {
	Folder string
	Log    io.Writer
	Env    []string
}

// Go runs go in the module, without a workspace and without cgo, so that the result does not depend on the machine's C library. It returns
// the standard output.
func (m Module) Go(ctx context.Context, args ...string) (string, error) {
	run := Runner{Log: m.Log, Env: append([]string{"GOWORK=off", "CGO_ENABLED=0"}, m.Env...)}
	return run.Run(ctx, "go", append([]string{"-C", m.Folder}, args...)...)
}

// Download downloads another module, by default in the version that the module requires, and returns its folder and version.
func (m Module) Download(ctx context.Context, module string) (folder, version string, err error) {
	printed, err := m.Go(ctx, "mod", "download", "-json", module)
	var known struct{ Dir, Version, Error string }
	if invalid := json.Unmarshal([]byte(printed), &known); err == nil {
		err = invalid
	}
	if err != nil {
		return "", "", fmt.Errorf("downloading %s: %w %s", module, err, known.Error)
	}
	return known.Dir, known.Version, nil
}
