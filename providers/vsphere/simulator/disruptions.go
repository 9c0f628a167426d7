// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"path"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// SetDelay delays every response of this server, including pending ones. The effect of a call is not delayed.
func (s *Server) SetDelay(d time.Duration) { s.endpoint.SetDelay(d) }

// SetDown resets all existing and new connections until it is called with false. Sessions and tasks continue.
func (s *Server) SetDown(down bool) { s.endpoint.SetDown(down) }

// RenewCertificate replaces the server's certificate by another self-signed one and resets every connection, as when an
// administrator replaces an expiring certificate. Sessions continue.
func (s *Server) RenewCertificate() error { return s.endpoint.RenewCertificate() }

// DisconnectHosts makes vCenter lose the connection to hosts of a compute cluster, given by name or inventory path; to all of
// them if none is named. Their VMs are disconnected: they keep running, but cannot be powered, changed or deleted, only cloned.
func (s *Server) DisconnectHosts(cluster string, hosts ...string) error {
	return s.hosts.Disconnect(cluster, hosts...)
}

// ReconnectHosts reverts DisconnectHosts.
func (s *Server) ReconnectHosts(cluster string, hosts ...string) error {
	return s.hosts.Reconnect(cluster, hosts...)
}

// SetMaintenance puts hosts into maintenance mode, or takes them out of it. Their VMs are not moved.
func (s *Server) SetMaintenance(cluster string, on bool, hosts ...string) error {
	return s.hosts.SetMaintenance(cluster, on, hosts...)
}

// RemoveDatastore removes a datastore from the inventory, as when its last host has unmounted it. VMs on it keep running and can
// be deleted, but not powered on.
func (s *Server) RemoveDatastore(datacenter, name string) error {
	return s.datastores.Remove(datacenter, name)
}

// RestoreDatastore reverts RemoveDatastore.
func (s *Server) RestoreDatastore(datacenter, name string) error {
	return s.datastores.Restore(datacenter, name)
}

// SetFreeSpace sets the free space of a datastore.
func (s *Server) SetFreeSpace(datacenter, name string, gib int64) error {
	return s.datastores.SetFreeSpace(datacenter, name, gib)
}

// RenameNetwork renames a network. Connected network cards follow.
func (s *Server) RenameNetwork(datacenter, from, to string) error {
	return s.Rename(path.Join("/", datacenter, "network", from), to)
}

// Rename renames the object at an inventory path.
func (s *Server) Rename(path, name string) error {
	e, err := s.inventory.Rename(path, name)
	if network, ok := e.(*mo.Network); ok {
		vcsim.UpdateNetworkName(s.inventory, network.Self, name)
	}
	return err
}

// HideSwitch removes the accounts' permission to read the switch of a distributed port group, so that vCenter no longer reports
// it.
func (s *Server) HideSwitch(datacenter, portgroup string) error {
	return vcsim.HideSwitch(s.inventory, datacenter, portgroup)
}

// powerChanged is called while the VM is locked.
func (s *Server) powerChanged(vm *mo.VirtualMachine) {
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		s.pci.Release(vm.Self)
	}
	s.guests.PowerChanged(vm)
}

// forgetVM removes a deleted VM from groups and tags, as vCenter does and vcsim does not.
func (s *Server) forgetVM(ref types.ManagedObjectReference) {
	s.guests.Forget(ref)
	s.cloning.Forget(ref)
	s.pci.Release(ref)
	s.modules.RemoveVM(ref.Value)
	s.permissions.Forget(ref)
	s.drs.RemoveVM(ref)
	s.admin.DetachAll(ref)
}
