// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"

// PCIDevice returns the name of a host device for passthrough, as in VM.PCI: vendor, device and label, such as "10de:1eb8 gpu". A
// shared graphics card is named by its profile.
func PCIDevice(vendor, device int32, label string) string {
	return vcsim.PCIDeviceName(vendor, device, label)
}

// SetPCIDevices sets the devices, each listed once, that a host of a compute cluster provides to its VMs. By default a host has
// none.
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
