// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
	"fmt"
)

// Module is a Go module of the repository.
type Module struct {
	Folder string
	Run    Runner
}

// Go runs go in the module and returns its standard output.
func (m Module) Go(ctx context.Context, args ...string) (string, error) {
	return m.Run.Run(ctx, "go", append([]string{"-C", m.Folder}, args...)...)
}

// Download downloads another module in the version that the module requires, and returns its folder.
func (m Module) Download(ctx context.Context, module string) (string, error) {
	printed, err := m.Go(ctx, "mod", "download", "-json", module)
	if err != nil {
		return "", err
	}
	var known struct{ Dir string }
	if err := json.Unmarshal([]byte(printed), &known); err != nil {
		return "", fmt.Errorf("locating %s: %w", module, err)
	}
	return known.Dir, nil
}
