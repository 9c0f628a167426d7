// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// SetDelay makes every answer of this server so much late, including those under
// way. The effect of a call is not delayed, only its answer.
func (s *Server) SetDelay(d time.Duration) { s.endpoint.SetDelay(d) }

// SetDown resets every connection, and those that come, until it is called with
// false. Sessions and tasks go on meanwhile.
func (s *Server) SetDown(down bool) { s.endpoint.SetDown(down) }

// DisconnectHosts makes vCenter lose the hosts of a compute cluster, given by name
// or inventory path; all of them when none is named. Their VMs are disconnected:
// they run on, but cannot be powered, changed or deleted, only cloned.
func (s *Server) DisconnectHosts(cluster string, hosts ...string) error {
	return s.eachHost(cluster, hosts, func(ctx *simulator.Context, host *simulator.HostSystem) {
		s.connection(ctx, host, types.HostSystemConnectionStateDisconnected)
	})
}

// ReconnectHosts undoes DisconnectHosts.
func (s *Server) ReconnectHosts(cluster string, hosts ...string) error {
	return s.eachHost(cluster, hosts, func(ctx *simulator.Context, host *simulator.HostSystem) {
		s.connection(ctx, host, types.HostSystemConnectionStateConnected)
	})
}

// SetMaintenance puts hosts into maintenance mode, or takes them out of it. VMs stay.
func (s *Server) SetMaintenance(cluster string, on bool, hosts ...string) error {
	return s.eachHost(cluster, hosts, func(ctx *simulator.Context, host *simulator.HostSystem) { s.maintenance(ctx, host, on) })
}

func (s *Server) maintenance(ctx *simulator.Context, host *simulator.HostSystem, on bool) {
	ctx.WithLock(host, func() {
		ctx.Update(host, []types.PropertyChange{
			{Name: "runtime.inMaintenanceMode", Val: on},
			{Name: "summary.runtime", Val: host.Summary.Runtime},
		})
	})
}

func (s *Server) eachHost(cluster string, names []string, do func(*simulator.Context, *simulator.HostSystem)) error {
	c, err := s.cluster(cluster)
	if err != nil {
		return err
	}
	left := slices.Clone(names)
	for _, ref := range s.hostRefs(c) {
		host, ok := get[*simulator.HostSystem](s, &ref)
		if !ok {
			continue
		}
		name := nameOf(s.call(), host)
		if len(names) == 0 || slices.Contains(names, name) {
			do(s.call(), host)
			left = slices.DeleteFunc(left, func(n string) bool { return n == name })
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("cluster %q has no host %s", cluster, strings.Join(left, ", "))
	}
	return nil
}

func (s *Server) connection(ctx *simulator.Context, host *simulator.HostSystem, state types.HostSystemConnectionState) {
	var vms []types.ManagedObjectReference
	ctx.WithLock(host, func() {
		vms = slices.Clone(host.Vm)
		ctx.Update(host, []types.PropertyChange{
			{Name: "runtime.connectionState", Val: state},
			{Name: "summary.runtime", Val: host.Summary.Runtime},
		})
	})
	for _, ref := range vms {
		vm, ok := get[*simulator.VirtualMachine](s, &ref)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			ctx.Update(vm, []types.PropertyChange{
				{Name: "runtime.connectionState", Val: types.VirtualMachineConnectionState(state)},
				{Name: "summary.runtime.connectionState", Val: types.VirtualMachineConnectionState(state)},
			})
		})
	}
}

// connected refuses what vCenter cannot do while it has lost the VM's host. The VM
// is locked.
func (s *Server) connected(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if !ok || vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateConnected {
		return nil
	}
	if vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateDisconnected {
		return &types.HostNotConnected{}
	}
	return &types.InvalidState{}
}

// stoppable refuses to switch off a VM that no host has. Files that cannot be read
// keep none from being ended. The VM is locked.
func (s *Server) stoppable(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if ok && (vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateInaccessible ||
		vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateInvalid) {
		return nil
	}
	return s.connected(ref)
}

// RemoveGroup deletes a host group or VM group. Rules that name it stay.
func (s *Server) RemoveGroup(cluster, group string) error {
	return s.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		before := len(config.Group)
		config.Group = slices.DeleteFunc(slices.Clone(config.Group), func(info types.BaseClusterGroupInfo) bool {
			return info.GetClusterGroupInfo().Name == group
		})
		if len(config.Group) == before {
			return fmt.Errorf("cluster %q has no group %q", cluster, group)
		}
		return nil
	})
}

// AddVMGroup makes an empty VM group.
func (s *Server) AddVMGroup(cluster, group string) error {
	return s.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		config.Group = append(slices.Clone(config.Group), &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: group}})
		return nil
	})
}

// OverwriteGroup makes the VMs, given by name, the only members of a VM group, as
// another client of the vCenter would that has read the group some time ago.
func (s *Server) OverwriteGroup(cluster, group string, vms ...string) error {
	members := []types.ManagedObjectReference{}
	for _, name := range vms {
		vm, err := s.find(name)
		if err != nil {
			return err
		}
		members = append(members, vm.Self)
	}
	return s.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		for i, info := range config.Group {
			if old, ok := info.(*types.ClusterVmGroup); ok && old.Name == group {
				edited := *old
				edited.Vm = members
				config.Group[i] = &edited
				return nil
			}
		}
		return fmt.Errorf("cluster %q has no VM group %q", cluster, group)
	})
}

func (s *Server) editRules(cluster string, edit func(*types.ClusterConfigInfoEx) error) error {
	c, err := s.cluster(cluster)
	if err != nil {
		return err
	}
	return s.editCluster(c, edit)
}

// RenameNetwork renames a network. Cards on it follow.
func (s *Server) RenameNetwork(datacenter, from, to string) error {
	return s.Rename(path.Join("/", datacenter, "network", from), to)
}

// HideSwitch takes from the accounts the right to read the switch that a
// distributed port group belongs to: vCenter does not say any more which it is.
func (s *Server) HideSwitch(datacenter, portgroup string) error {
	group, err := find[*simulator.DistributedVirtualPortgroup](s, path.Join("/", datacenter, "network", portgroup))
	if err != nil {
		return err
	}
	ctx := s.call()
	ctx.WithLock(group, func() {
		config := group.Config
		config.DistributedVirtualSwitch = nil
		ctx.Update(group, []types.PropertyChange{{Name: "config", Val: config}})
	})
	return nil
}

// Rename gives the object at an inventory path another name.
func (s *Server) Rename(path, name string) error {
	e, err := s.at(path)
	if err != nil {
		return err
	}
	ctx := s.call()
	ctx.WithLock(e, func() {
		e.Entity().Name = name // of networks, the update reaches only their second name
		ctx.Update(e, []types.PropertyChange{{Name: "name", Val: name}})
	})
	if network, ok := e.(*mo.Network); ok {
		s.followNetwork(network.Self, name)
	}
	return nil
}

// followNetwork renames the backing of standard cards, which goes by name.
func (s *Server) followNetwork(ref types.ManagedObjectReference, name string) {
	for _, e := range s.registry.All("VirtualMachine") {
		vm, ctx := e.(*simulator.VirtualMachine), s.call()
		ctx.WithLock(vm, func() {
			changed := false
			for _, card := range cards(&vm.VirtualMachine) {
				backing, ok := card.backing.(*types.VirtualEthernetCardNetworkBackingInfo)
				if ok && backing.Network != nil && *backing.Network == ref {
					backing.DeviceName, changed = name, true
				}
			}
			if changed {
				s.publishConfig(ctx, vm.Self)
			}
		})
	}
}

// PowerOffVM switches a VM off, behind the back of every client. The VM is given
// by its name if that is unique, its reference or its inventory path.
func (s *Server) PowerOffVM(vm string) error {
	found, err := s.find(vm)
	if err != nil {
		return err
	}
	started, err := methods.PowerOffVM_Task(context.Background(), s.admin.client, &types.PowerOffVM_Task{This: found.Self})
	if err != nil {
		return fmt.Errorf("powering off %s: %w", vm, err)
	}
	if _, err := s.admin.await(started.Returnval); err != nil {
		return fmt.Errorf("powering off %s: %w", vm, err)
	}
	return nil
}

// DestroyVM deletes a VM or template, switched on or not, behind the back of every
// client. The VM is given as for PowerOffVM.
func (s *Server) DestroyVM(vm string) error {
	found, err := s.find(vm)
	if err != nil {
		return err
	}
	var on bool
	s.locked(found, func() { on = found.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn })
	if on {
		if err := s.PowerOffVM(found.Self.Value); err != nil {
			return err
		}
	}
	started, err := methods.Destroy_Task(context.Background(), s.admin.client, &types.Destroy_Task{This: found.Self})
	if err != nil {
		return fmt.Errorf("destroying %s: %w", vm, err)
	}
	if _, err := s.admin.await(started.Returnval); err != nil {
		return fmt.Errorf("destroying %s: %w", vm, err)
	}
	return nil
}

// HideVM takes a VM out of its folder and of what property collectors find by any other way, although it exists, as when
// an account loses its permission on it. vcsim's own collector still finds it by way of its pool, its host or a container view.
func (s *Server) HideVM(vm string) error {
	return s.inFolder(vm, s.takeOut)
}

// ShowVM undoes HideVM.
func (s *Server) ShowVM(vm string) error {
	return s.inFolder(vm, func(ctx *simulator.Context, folder *simulator.Folder, ref types.ManagedObjectReference) {
		s.newVMs.hide(ref, false)
		s.registry.AddReference(ctx, folder, &folder.ChildEntity, ref)
		ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: folder.ChildEntity}})
	})
}

func (s *Server) inFolder(vm string, do func(*simulator.Context, *simulator.Folder, types.ManagedObjectReference)) error {
	machine, err := s.find(vm)
	if err != nil {
		return err
	}
	folder, ok := get[*simulator.Folder](s, machine.Parent)
	if !ok {
		return fmt.Errorf("VM %s is in no folder", vm)
	}
	defer s.structure.own()()
	ctx := s.call()
	ctx.WithLock(folder, func() { do(ctx, folder, machine.Self) })
	return nil
}

// MoveVMToHost moves a VM, given as for PowerOffVM, to another host of its cluster,
// whatever the rules say.
func (s *Server) MoveVMToHost(vm, host string) error {
	found, err := s.find(vm)
	if err != nil {
		return err
	}
	cluster, ok := s.clusterOf(found)
	if !ok {
		return fmt.Errorf("%s is in no cluster", vm)
	}
	target, ok := child(s.call(), s.hostRefs(cluster), host)
	if !ok {
		return fmt.Errorf("the cluster of %s has no host %q", vm, host)
	}
	ctx := s.call()
	ctx.WithLock(found, func() { s.move(ctx, found, target.Reference()) })
	return nil
}

// find returns the VM of that name, reference or inventory path.
func (s *Server) find(vm string) (*simulator.VirtualMachine, error) {
	if strings.HasPrefix(vm, "/") {
		return find[*simulator.VirtualMachine](s, vm)
	}
	var found []*simulator.VirtualMachine
	for _, e := range s.registry.All("VirtualMachine") {
		if e.Reference().Value == vm || nameOf(s.call(), e) == vm {
			found = append(found, e.(*simulator.VirtualMachine))
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d virtual machines are named %q", len(found), vm)
	}
	return found[0], nil
}

// forgetVM takes a VM that has gone out of groups and off tags, as vCenter does,
// which vcsim does not.
func (s *Server) forgetVM(ref types.ManagedObjectReference) {
	s.guests.forget(ref)
	s.storage.forget(ref)
	s.pci.release(ref)
	s.modules.leaveAll(ref.Value)
	s.newVMs.hide(ref, false)
	s.leaveGroups(ref)
	s.admin.tags.Lock()
	defer s.admin.tags.Unlock()
	ids, _ := s.admin.tags.AttachedTags(ref)
	for _, id := range ids {
		s.admin.tags.DetachTag(ref, id)
	}
}
