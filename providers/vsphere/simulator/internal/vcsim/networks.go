// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"path"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Card is a network card of a virtual machine.
type Card struct {
	Key     int32
	MAC     string
	Backing types.BaseVirtualDeviceBackingInfo
}

// cardsOf returns the network cards of a locked VM.
func cardsOf(vm *mo.VirtualMachine) []Card {
	var out []Card
	if vm.Config == nil {
		return nil
	}
	for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device) {
		if card, ok := device.(types.BaseVirtualEthernetCard); ok {
			base := card.GetVirtualEthernetCard()
			out = append(out, Card{Key: base.Key, MAC: base.MacAddress, Backing: base.Backing})
		}
	}
	return out
}

// Network returns the network of the card.
func (c Card) Network() types.ManagedObjectReference {
	switch backing := c.Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		if backing.Network != nil {
			return *backing.Network
		}
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: backing.Port.PortgroupKey}
	}
	return types.ManagedObjectReference{}
}

// networkName returns the name of a network, or "".
func networkName(ctx *simulator.Context, network types.ManagedObjectReference) string {
	if network, ok := ctx.Map.Get(network).(mo.Entity); ok {
		return entityName(ctx, network)
	}
	return ""
}

// reachesNetwork reports whether a card is on one of the networks.
func reachesNetwork(ctx *simulator.Context, networks []mo.Entity, card types.BaseVirtualEthernetCard) bool {
	return slices.ContainsFunc(networks, func(network mo.Entity) bool {
		switch backing := card.GetVirtualEthernetCard().Backing.(type) {
		case *types.VirtualEthernetCardNetworkBackingInfo:
			return entityName(ctx, network) == backing.DeviceName
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			return network.Reference().Value == backing.Port.PortgroupKey
		}
		return true
	})
}

// HideSwitch removes the accounts' permission to read the switch of a distributed port group, so that vCenter no longer reports
// it.
func HideSwitch(i *Inventory, datacenter, portgroup string) error {
	group, err := find[*simulator.DistributedVirtualPortgroup](i, path.Join("/", datacenter, "network", portgroup))
	if err != nil {
		return err
	}
	ctx := i.NewContext()
	ctx.WithLock(group, func() {
		config := group.Config
		config.DistributedVirtualSwitch = nil
		ctx.Update(group, []types.PropertyChange{{Name: "config", Val: config}})
	})
	return nil
}

// UpdateNetworkName updates the backing of standard cards after a rename, because it refers to the network by name.
func UpdateNetworkName(i *Inventory, ref types.ManagedObjectReference, name string) {
	for _, e := range i.Registry.All("VirtualMachine") {
		vm, ctx := e.(*simulator.VirtualMachine), i.NewContext()
		ctx.WithLock(vm, func() {
			changed := false
			for _, card := range cardsOf(&vm.VirtualMachine) {
				backing, ok := card.Backing.(*types.VirtualEthernetCardNetworkBackingInfo)
				if ok && backing.Network != nil && *backing.Network == ref {
					backing.DeviceName, changed = name, true
				}
			}
			if changed {
				i.PublishConfig(ctx, vm.Self)
			}
		})
	}
}
