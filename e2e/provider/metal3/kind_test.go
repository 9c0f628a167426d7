// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package metal3

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/provider"
)

func TestOperatorOfBootingHostsUsesDocker(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	k := provider.Kind{Name: "x", Network: "kind", Label: "io.faultline.environment=x"}
	g.Expect(Provider{}.arguments(k, "sum")).To(And(ContainElement("--read-only"), Not(ContainElement(ContainSubstring("docker.sock")))))
	g.Expect(Provider{}.arguments(k, "sum")).To(ContainElements("io.faultline.environment=x", "io.faultline.source=sum", "x-operator"))
	k.Boot = true
	g.Expect(Provider{}.arguments(k, "sum")).To(ContainElements(ContainSubstring("docker.sock"), "--containers", "racks-x"))
	g.Expect(Provider{}.arguments(k, "sum")).NotTo(ContainElement("--read-only"))
}

// Docker uses the gateway of a container's first network by name, and the node must keep its gateway.
func TestBootingHostsHaveTheirNetwork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	k := provider.Kind{Name: "x", Network: "kind"}
	g.Expect(machineNetwork(k)).To(Equal("kind"))
	g.Expect(connectRacks(t.Context(), k)).To(Succeed(), "there is nothing to do")
	k.Boot = true
	g.Expect(machineNetwork(k)).To(Equal("racks-x"))
	g.Expect(machineNetwork(k) > "kind").To(BeTrue())
}
