// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSubnet(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	answer := func(text string) {
		g.Expect(os.WriteFile(filepath.Join(folder, program), []byte("#!/bin/sh\necho '"+text+"'\n"), 0o700)).To(Succeed())
	}
	answer("fc00:f853:ccd:e793::/64 172.18.0.0/16 ")
	subnet, err := Docker{}.Subnet(t.Context(), "kind")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(subnet.String()).To(Equal("172.18.0.0/16"))
	for _, text := range []string{"", "fc00::/64 ", "nonsense "} {
		answer(text)
		_, err := Docker{}.Subnet(t.Context(), "kind")
		g.Expect(err).To(MatchError("network kind has no IPv4 addresses"), text)
	}
}
