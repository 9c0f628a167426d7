// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package virtualmachines

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

func TestAddressHook(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	vmi := &kubevirtv1.VirtualMachineInstance{}
	vmi.Spec.Domain.Devices.Interfaces = []kubevirtv1.Interface{{Name: "nic-0", MacAddress: "52:54:00:00:00:01"}, {Name: "nic-1", MacAddress: "52:54:00:00:00:02"}}
	address := ""
	guests := &Guests{leases: cluster.NewLeases(), faults: controllers.NewFaultTable(), hooks: Hooks{
		Address: func(context.Context, *kubevirtv1.VirtualMachineInstance) (string, error) { return address, nil },
	}}
	addresses := func() (all []string) {
		found, err := guests.interfaces(t.Context(), vmi)
		g.Expect(err).NotTo(HaveOccurred())
		for _, each := range found {
			all = append(all, each.IP)
		}
		return all
	}
	g.Expect(addresses()).To(Equal([]string{"", "10.100.0.10"}), "it has none yet")
	address = "172.18.0.9"
	g.Expect(addresses()).To(Equal([]string{"172.18.0.9", "10.100.0.10"}))
}
