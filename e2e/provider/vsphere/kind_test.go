// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/provider"
)

func TestVCenterOfBootingMachinesUsesDocker(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	k := provider.Kind{Name: "x", Label: "io.faultline.environment=x"}
	g.Expect(Provider{}.arguments(k)).To(And(ContainElement("--read-only"), Not(ContainElement(ContainSubstring("docker.sock"))), Not(ContainElement(ContainSubstring("--vcenters")))))
	k.Boot = true
	g.Expect(Provider{}.arguments(k)).To(And(ContainElement(ContainSubstring("docker.sock")), ContainElement("--containers"), ContainElement("--vcenters=3")))
	g.Expect(Provider{}.arguments(k)).To(ContainElement("io.faultline.environment=x"))
}
