// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"

// PCIDevice names a device of a host that can be passed through, as in VM.PCI: vendor, kind and label, such as "10de:1eb8 gpu".
// A share of a graphics card goes by its profile.
func PCIDevice(vendor, device int32, label string) string {
	return vcsim.PCIDeviceName(vendor, device, label)
}

// SetPCIDevices says which devices, each once, a host of a compute cluster has for its VMs. Without it a host has none.
func (s *Server) SetPCIDevices(cluster, host string, devices ...string) error {
	c, err := s.inventory.Cluster(cluster)
	if err != nil {
		return err
	}
	found, err := s.inventory.Host(c, host)
	if err != nil {
		return err
	}
	s.pci.Set(found, devices)
	return nil
}
