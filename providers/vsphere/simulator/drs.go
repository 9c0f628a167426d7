// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// placeForPowerOn moves a VM, as DRS does at power on, to a host that its rules
// allow and that can run it. It fails when a mandatory rule leaves none; a rule that
// is not mandatory gives way. Where DRS is off or only gives advice the VM starts on
// the host that it is registered on, whatever the rules say. The VM is locked by ctx.
func (s *Server) placeForPowerOn(ctx *simulator.Context, ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	cluster, ok := s.clusterOfHost(vm.Runtime.Host)
	if !ok {
		return nil
	}
	var config types.ClusterConfigInfoEx
	s.locked(cluster, func() {
		config = *cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		config.Group, config.Rule = slices.Clone(config.Group), slices.Clone(config.Rule)
	})
	devices := passedThrough(vm.Config.Hardware.Device)
	if !automated(&config) {
		return s.pci.claim(vm.Self, *vm.Runtime.Host, devices)
	}
	hosts := s.hostViews(cluster)
	able := s.ableToRun(vm, devices)
	must, should := affinity(&config, ref)
	for _, allowed := range []func(types.ManagedObjectReference) bool{
		func(host types.ManagedObjectReference) bool { return must(host) && should(host) },
		must,
	} {
		if here := hostNamed(hosts, *vm.Runtime.Host); here.usable && able(here) && allowed(here.ref) {
			return s.pci.claim(vm.Self, here.ref, devices)
		}
		if host, ok := s.structure.choose(hosts, func(h hostView) bool { return able(h) && allowed(h.ref) }); ok {
			s.move(ctx, vm, host.ref)
			return s.pci.claim(vm.Self, host.ref, devices)
		}
	}
	return &types.NoCompatibleHost{}
}

// ableToRun tells the hosts that can start the locked VM, whatever its rules say.
func (s *Server) ableToRun(vm *simulator.VirtualMachine, devices []string) func(hostView) bool {
	return func(host hostView) bool {
		return !s.structure.isFull(host.ref) && s.pci.fits(host.ref, devices) && !slices.ContainsFunc(vm.Datastore, func(ref types.ManagedObjectReference) bool {
			return !slices.Contains(host.datastores, ref)
		})
	}
}

// automated reports whether DRS chooses hosts by itself.
func automated(config *types.ClusterConfigInfoEx) bool {
	return isTrue(config.DrsConfig.Enabled) && config.DrsConfig.DefaultVmBehavior == types.DrsBehaviorFullyAutomated
}

func hostNamed(hosts []hostView, ref types.ManagedObjectReference) hostView {
	for _, host := range hosts {
		if host.ref == ref {
			return host
		}
	}
	return hostView{}
}

// affinity returns which hosts the enabled rules of a VM insist on, and which they
// prefer.
func affinity(config *types.ClusterConfigInfoEx, vm types.ManagedObjectReference) (must, should func(types.ManagedObjectReference) bool) {
	groups := vmGroups(config)[vm]
	var musts, shoulds [][]types.ManagedObjectReference
	for _, info := range config.Rule {
		rule, ok := info.(*types.ClusterVmHostRuleInfo)
		if !ok || !isTrue(rule.Enabled) || !slices.Contains(groups, rule.VmGroupName) || rule.AffineHostGroupName == "" {
			continue
		}
		hosts := hostGroup(config, rule.AffineHostGroupName)
		if isTrue(rule.Mandatory) {
			musts = append(musts, hosts)
		} else {
			shoulds = append(shoulds, hosts)
		}
	}
	return inAll(musts), inAll(shoulds)
}

func inAll(sets [][]types.ManagedObjectReference) func(types.ManagedObjectReference) bool {
	return func(host types.ManagedObjectReference) bool {
		return !slices.ContainsFunc(sets, func(set []types.ManagedObjectReference) bool { return !slices.Contains(set, host) })
	}
}

func hostGroup(config *types.ClusterConfigInfoEx, name string) []types.ManagedObjectReference {
	for _, info := range config.Group {
		if group, ok := info.(*types.ClusterHostGroup); ok && group.Name == name {
			return group.Host
		}
	}
	return nil
}

func isTrue(b *bool) bool { return b != nil && *b }
