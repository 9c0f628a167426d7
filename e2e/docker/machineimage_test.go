// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package docker

import (
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
)

func TestScriptsParse(t *testing.T) {
	t.Parallel()
	for _, script := range []string{string(kubeadm), installCloudInit} {
		out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", script).CombinedOutput()
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s", out)
	}
}
