// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// NICSpec describes a network card.
type NICSpec struct {
	Network inventory.NetworkBacking
	MAC     string // "": vCenter chooses
}

// NIC is a virtual network card.
type NIC struct {
	MAC       string
	Network   string // name of the network, or reference of the port group, that it is connected to
	DeviceKey int32
}

// NICs returns the network cards among devices, in the order in which they were added.
func NICs(devices []types.BaseVirtualDevice) []NIC {
	var nics []NIC
	for _, device := range devices {
		card, ok := device.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		c := card.GetVirtualEthernetCard()
		nics = append(nics, NIC{MAC: c.MacAddress, Network: backedBy(c.Backing), DeviceKey: c.Key})
	}
	slices.SortStableFunc(nics, func(a, b NIC) int { return int(a.DeviceKey - b.DeviceKey) })
	return nics
}

func backedBy(backing types.BaseVirtualDeviceBackingInfo) string {
	switch b := backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return b.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return b.Port.PortgroupKey
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		return b.OpaqueNetworkId
	}
	return ""
}

func replaceNICs(devices object.VirtualDeviceList, nics []NICSpec) []types.BaseVirtualDeviceConfigSpec {
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, old := range devices.SelectByType((*types.VirtualEthernetCard)(nil)) {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: old})
	}
	for i, nic := range nics {
		card := types.VirtualEthernetCard{
			VirtualDevice: types.VirtualDevice{
				Key:     -200 - int32(i), // temporary; new devices only need distinct negative ones
				Backing: cardBacking(nic.Network),
				Connectable: &types.VirtualDeviceConnectInfo{
					StartConnected: true, AllowGuestControl: true, Connected: true,
				},
			},
		}
		if nic.MAC != "" {
			card.MacAddress, card.AddressType = nic.MAC, string(types.VirtualEthernetCardMacTypeManual)
		}
		changes = append(changes, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd,
			Device:    &types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: card}},
		})
	}
	return changes
}

func cardBacking(network inventory.NetworkBacking) types.BaseVirtualDeviceBackingInfo {
	switch {
	case network.PortgroupKey != "":
		return &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{
			PortgroupKey: network.PortgroupKey, SwitchUuid: network.SwitchUUID,
		}}
	case network.OpaqueID != "":
		return &types.VirtualEthernetCardOpaqueNetworkBackingInfo{
			OpaqueNetworkId: network.OpaqueID, OpaqueNetworkType: network.OpaqueType,
		}
	}
	return &types.VirtualEthernetCardNetworkBackingInfo{
		VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: network.Name},
		Network:                        optional(network.Ref),
	}
}
