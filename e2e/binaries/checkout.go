// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/faultline-io/faultline/e2e/tool"
)

// UpstreamMetal3 builds the manager of the checkout in CAPM3, and returns its path and the folder that its CRDs, RBAC rules and webhook
// manifests are rendered from. It builds each time, because the checkout may have changed to another release.
func (b *Builder) UpstreamMetal3(ctx context.Context) (program, config string, err error) {
	folder, err := filepath.Abs(b.CAPM3)
	if err != nil {
		return "", "", err
	}
	config = filepath.Join(folder, "config", "default")
	if _, err := os.Stat(config); b.CAPM3 == "" || err != nil {
		return "", "", fmt.Errorf("%s is %q: it must be a checkout of cluster-api-provider-metal3, v1.12 or later", CAPM3Variable, b.CAPM3)
	}
	program = filepath.Join(b.Dir(), UpstreamMetal3)
	b.progressf("building %s from %s (some minutes the first time)", UpstreamMetal3, b.CAPM3)
	if _, err := (tool.Module{Folder: folder}).Go(ctx, append(append([]string{"build", "-o", program}, buildFlags("")...), ".")...); err != nil {
		return "", "", fmt.Errorf("building %s from %s: %w", UpstreamMetal3, b.CAPM3, err)
	}
	return program, config, nil
}
