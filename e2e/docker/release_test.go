// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package docker

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestReleaseRenamesOwnImagesOnly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		release     Release
		image, want string
	}{
		{Release{}, "docker.io/faultline/a:v2.0.0", "docker.io/faultline/a:v2.0.0"},
		{Release{Version: "v9.9.9"}, "docker.io/faultline/a:v2.0.0", "docker.io/faultline/a:v9.9.9"},
		{Release{Version: "v9.9.9"}, "docker.io/faultline/a", "docker.io/faultline/a"},
		{Release{Registry: "registry:5000/team"}, "docker.io/faultline/a:v2.0.0", "registry:5000/team/a:v2.0.0"},
		{Release{Version: "v9.9.9", Registry: "registry:5000/"}, "docker.io/faultline/a:v2.0.0", "registry:5000/a:v9.9.9"},
		{Release{Version: "v9.9.9", Registry: "registry"}, "ghcr.io/kube-vip/kube-vip:v0.9.1", "ghcr.io/kube-vip/kube-vip:v0.9.1"},
	} {
		NewWithT(t).Expect(tc.release.Name(tc.image)).To(Equal(tc.want))
	}
}
