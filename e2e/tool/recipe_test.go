// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package tool

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestVersionLinkerFlags(t *testing.T) {
	t.Parallel()
	flags := GitVersion("k8s.io/component-base/version", "v1.36.3")
	for _, want := range []string{"version.gitVersion=v1.36.3", "version.gitMajor=1", "version.gitMinor=36"} {
		NewWithT(t).Expect(flags).To(ContainSubstring(want))
	}
}
