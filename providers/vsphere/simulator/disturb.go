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

// SetDelay makes every answer of this server so much late, including those under
// way. The effect of a call is not delayed, only its answer.
func (s *Server) SetDelay(d time.Duration) { s.endpoint.SetDelay(d) }

// SetDown resets every connection, and those that come, until it is called with
// false. Sessions and tasks go on meanwhile.
func (s *Server) SetDown(down bool) { s.endpoint.SetDown(down) }

// RenewCertificate gives the server another certificate, which signs itself too, and resets every connection, as when an administrator
// replaces the one that expires. Sessions go on.
func (s *Server) RenewCertificate() error { return s.endpoint.RenewCertificate() }

// DisconnectHosts makes vCenter lose the hosts of a compute cluster, given by name
// or inventory path; all of them when none is named. Their VMs are disconnected:
// they run on, but cannot be powered, changed or deleted, only cloned.
func (s *Server) DisconnectHosts(cluster string, hosts ...string) error {
	return s.hosts.Disconnect(cluster, hosts...)
}

// ReconnectHosts undoes DisconnectHosts.
func (s *Server) ReconnectHosts(cluster string, hosts ...string) error {
	return s.hosts.Reconnect(cluster, hosts...)
}

// SetMaintenance puts hosts into maintenance mode, or takes them out of it. VMs stay.
func (s *Server) SetMaintenance(cluster string, on bool, hosts ...string) error {
	return s.hosts.SetMaintenance(cluster, on, hosts...)
}

// RemoveDatastore takes a datastore out of the inventory, as when its last host
// has unmounted it. VMs on it run on and can be deleted, but not powered on.
func (s *Server) RemoveDatastore(datacenter, name string) error {
	return s.datastores.Remove(datacenter, name)
}

// RestoreDatastore undoes RemoveDatastore.
func (s *Server) RestoreDatastore(datacenter, name string) error {
	return s.datastores.Restore(datacenter, name)
}

// SetFreeSpace says how much room there is on a datastore.
func (s *Server) SetFreeSpace(datacenter, name string, gib int64) error {
	return s.datastores.SetFreeSpace(datacenter, name, gib)
}

// RenameNetwork renames a network. Cards on it follow.
func (s *Server) RenameNetwork(datacenter, from, to string) error {
	return s.Rename(path.Join("/", datacenter, "network", from), to)
}

// Rename gives the object at an inventory path another name.
func (s *Server) Rename(path, name string) error {
	e, err := s.inventory.Rename(path, name)
	if network, ok := e.(*mo.Network); ok {
		vcsim.FollowNetwork(s.inventory, network.Self, name)
	}
	return err
}

// HideSwitch takes from the accounts the right to read the switch that a
// distributed port group belongs to: vCenter does not say any more which it is.
func (s *Server) HideSwitch(datacenter, portgroup string) error {
	return vcsim.HideSwitch(s.inventory, datacenter, portgroup)
}

// powerChanged is told while the VM is locked.
func (s *Server) powerChanged(vm *mo.VirtualMachine) {
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		s.pci.Release(vm.Self)
	}
	s.guests.PowerChanged(vm)
}

// forgetVM takes a VM that has gone out of groups and off tags, as vCenter does,
// which vcsim does not.
func (s *Server) forgetVM(ref types.ManagedObjectReference) {
	s.guests.Forget(ref)
	s.cloning.Forget(ref)
	s.pci.Release(ref)
	s.modules.LeaveAll(ref.Value)
	s.visibility.Forget(ref)
	s.drs.Leave(ref)
	s.operator.DetachAll(ref)
}
