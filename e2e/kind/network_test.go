// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestVirtualIP(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for subnet, want := range map[string]string{
		"172.18.0.0/16":  "172.18.255.100",
		"192.168.0.0/20": "192.168.15.100",
		"10.1.0.0/23":    "10.1.1.100",
	} {
		got, err := virtualIP([]string{"fc00:f853:ccd:e793::/64", subnet})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(want))
	}
	for _, subnets := range [][]string{nil, {"fc00::/64"}, {"10.0.0.0/25"}, {"nonsense"}} {
		_, err := virtualIP(subnets)
		g.Expect(err).To(HaveOccurred(), "%q", subnets)
	}
}
