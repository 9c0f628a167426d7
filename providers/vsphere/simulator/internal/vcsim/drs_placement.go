// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"cmp"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// DRS simulates DRS of all compute clusters of a vCenter.
type DRS struct {
	inventory *Inventory
	pci       *PCIDevices

	mu     sync.Mutex
	placed map[types.ManagedObjectReference]int // number of VMs ever placed on a host

	full sync.Map // hosts on which DRS must not start VMs
}

// NewDRS returns a DRS that has not placed any VM.
func NewDRS(i *Inventory, pci *PCIDevices) *DRS {
	return &DRS{inventory: i, pci: pci, placed: map[types.ManagedObjectReference]int{}}
}

// HostView holds the properties of a host that matter for placement.
type HostView struct {
	Ref        types.ManagedObjectReference
	Name       string
	Usable     bool
	Datastores []types.ManagedObjectReference
}

// Hosts returns the hosts of a cluster.
func (d *DRS) Hosts(cluster *simulator.ClusterComputeResource) []HostView {
	var views []HostView
	for _, ref := range d.inventory.HostRefs(cluster) {
		host, ok := Get[*simulator.HostSystem](d.inventory, &ref)
		if !ok {
			continue
		}
		d.inventory.WithLock(host, func() {
			views = append(views, HostView{
				Ref:  ref,
				Name: host.Name,
				Usable: host.Runtime.ConnectionState == types.HostSystemConnectionStateConnected &&
					!host.Runtime.InMaintenanceMode,
				Datastores: slices.Clone(host.Datastore),
			})
		})
	}
	return views
}

// Choose returns the usable, fitting host that has been chosen least often, the first by name if several have. It counts choices,
// not VMs, so that simultaneous clones are spread.
func (d *DRS) Choose(hosts []HostView, fits func(HostView) bool) (HostView, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var able []HostView
	for _, host := range hosts {
		if host.Usable && fits(host) {
			able = append(able, host)
		}
	}
	if len(able) == 0 {
		return HostView{}, false
	}
	chosen := slices.MinFunc(able, func(a, b HostView) int {
		return cmp.Or(cmp.Compare(d.placed[a.Ref], d.placed[b.Ref]), cmp.Compare(a.Name, b.Name))
	})
	d.placed[chosen.Ref]++
	return chosen, true
}

// SetFull sets whether DRS must not start VMs on a host.
func (d *DRS) SetFull(host types.ManagedObjectReference, full bool) {
	if full {
		d.full.Store(host, nil)
	} else {
		d.full.Delete(host)
	}
}

func (d *DRS) isFull(host types.ManagedObjectReference) bool {
	_, full := d.full.Load(host)
	return full
}

// Place moves a VM, as DRS does at power on, to a host that its rules allow and that can run it. It fails if a mandatory rule
// leaves no host; a preferred rule is ignored in that case. If DRS is off or only gives recommendations, the VM starts on the
// host that it is registered on, regardless of rules. The VM is locked by ctx.
func (d *DRS) Place(ctx *simulator.Context, ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](d.inventory, &ref)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	cluster, ok := d.inventory.ClusterOfHost(vm.Runtime.Host)
	if !ok {
		return nil
	}
	config := d.configurationOf(cluster)
	devices := pciDevicesOf(vm.Config.Hardware.Device)
	if !automated(&config) {
		return d.pci.Claim(vm.Self, *vm.Runtime.Host, devices)
	}
	hosts := d.Hosts(cluster)
	able := d.ableToRun(vm, devices)
	must, should := affinity(&config, ref)
	for _, allowed := range []func(types.ManagedObjectReference) bool{
		func(host types.ManagedObjectReference) bool { return must(host) && should(host) },
		must,
	} {
		if here := hostNamed(hosts, *vm.Runtime.Host); here.Usable && able(here) && allowed(here.Ref) {
			return d.pci.Claim(vm.Self, here.Ref, devices)
		}
		if host, ok := d.Choose(hosts, func(h HostView) bool { return able(h) && allowed(h.Ref) }); ok {
			d.inventory.Move(ctx, vm, host.Ref)
			return d.pci.Claim(vm.Self, host.Ref, devices)
		}
	}
	return &types.NoCompatibleHost{}
}

// ableToRun returns a filter for hosts that can start the locked VM, regardless of its rules.
func (d *DRS) ableToRun(vm *simulator.VirtualMachine, devices []string) func(HostView) bool {
	return func(host HostView) bool {
		return !d.isFull(host.Ref) && d.pci.Fits(host.Ref, devices) && !slices.ContainsFunc(vm.Datastore, func(ref types.ManagedObjectReference) bool {
			return !slices.Contains(host.Datastores, ref)
		})
	}
}

// automated reports whether DRS chooses hosts automatically.
func automated(config *types.ClusterConfigInfoEx) bool {
	return isTrue(config.DrsConfig.Enabled) && config.DrsConfig.DefaultVmBehavior == types.DrsBehaviorFullyAutomated
}

func hostNamed(hosts []HostView, ref types.ManagedObjectReference) HostView {
	for _, host := range hosts {
		if host.Ref == ref {
			return host
		}
	}
	return HostView{}
}

// affinity returns the hosts that the enabled rules of a VM require and prefer.
func affinity(config *types.ClusterConfigInfoEx, vm types.ManagedObjectReference) (must, should func(types.ManagedObjectReference) bool) {
	groups := groupsOfVMs(config)[vm]
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
