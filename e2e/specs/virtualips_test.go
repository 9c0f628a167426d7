//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"net/netip"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// addressesPerProcess separates the processes of a suite.
const addressesPerProcess = 24

// virtualIPs gives each cluster whose machines boot its own control-plane address, because a machine of a previous cluster may serve its
// address a little longer.
type virtualIPs struct{ last netip.Addr }

func newVirtualIPs() *virtualIPs {
	address, err := netip.ParseAddr(environment.Variables()["CONTROL_PLANE_ENDPOINT_IP"])
	Expect(err).NotTo(HaveOccurred())
	for range (GinkgoParallelProcess() - 1) * addressesPerProcess {
		address = address.Next()
	}
	return &virtualIPs{last: address}
}

func (v *virtualIPs) next() {
	v.last = v.last.Next()
	Expect(os.Setenv("CONTROL_PLANE_ENDPOINT_IP", v.last.String())).To(Succeed())
}
