// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package binaries

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUpstreamManagerIsBuiltFromCurrentCheckout(t *testing.T) {
	b := repository(t, "etcd")
	checkout := t.TempDir()
	b.CAPM3 = checkout
	write(t, checkout, "go.mod", "module example.test/upstream\n\ngo 1.26.0\n")
	write(t, checkout, "config/default/kustomization.yaml", "")
	for _, release := range []string{"v1.12", "v1.13"} {
		prints(t, checkout, ".", release)
		program, config, err := b.UpstreamMetal3(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
		if err != nil || string(out) != release {
			t.Errorf("it prints %q: %v", out, err)
		}
		if config != filepath.Join(checkout, "config", "default") {
			t.Errorf("its manifests are in %s", config)
		}
	}
}

func TestMissingUpstreamCheckoutIsRejected(t *testing.T) {
	for _, folder := range []string{"", t.TempDir()} {
		b := repository(t, "etcd")
		b.CAPM3 = folder
		_, _, err := b.UpstreamMetal3(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), CAPM3Variable) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "checkout of cluster-api-provider-metal3") {
			t.Errorf("%q: %v", folder, err)
		}
	}
}
