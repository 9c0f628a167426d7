// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"slices"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// VM is the state of a virtual machine in vCenter.
type VM = vcsim.VM

// Disk is a disk of a virtual machine.
type Disk = vcsim.Disk

// Resources are the CPU resources in MHz or the memory resources in MiB of a virtual machine. Zero means not set.
type Resources = vcsim.Resources

// VMs returns all virtual machines except templates, sorted by path.
func (s *Server) VMs() []VM { return s.machines.List(false) }

// Templates returns all virtual machines that are marked as templates.
func (s *Server) Templates() []VM { return s.machines.List(true) }

// VM returns the virtual machine with this name, and whether there is exactly one.
func (s *Server) VM(name string) (VM, bool) {
	vms := slices.DeleteFunc(s.VMs(), func(vm VM) bool { return vm.Name != name })
	if len(vms) != 1 {
		return VM{}, false
	}
	return vms[0], true
}

// AddKeyProvider registers a key provider, the first one as the default. A native provider generates its keys itself.
func (s *Server) AddKeyProvider(name string, native bool) error {
	return s.keys.AddProvider(name, native)
}

// Keys returns the keys that a key provider has generated, sorted.
func (s *Server) Keys(provider string) []string { return s.keys.Generated(provider) }
