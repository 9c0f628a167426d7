// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// PCIDevice is a device of the host on which a virtual machine is powered on: any device of a vendor and model, or a share of a
// graphics card (vGPU).
type PCIDevice struct {
	VendorID, DeviceID int32
	Label              string // "": any hardware label
	VGPUProfile        string // instead of the others
}

// String formats a device as lspci does.
func (d PCIDevice) String() string {
	if d.VGPUProfile != "" {
		return d.VGPUProfile
	}
	name := fmt.Sprintf("%04x:%04x", d.VendorID, d.DeviceID)
	if d.Label != "" {
		name += " labelled " + d.Label
	}
	return name
}

// MissingDevices returns the wanted devices that are not there. A device that is wanted twice must be there twice.
func MissingDevices(there, wanted []PCIDevice) []PCIDevice {
	left := slices.Clone(there)
	var missing []PCIDevice
	for _, want := range wanted {
		if i := slices.Index(left, want); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			missing = append(missing, want)
		}
	}
	return missing
}

func (d PCIDevice) backing() types.BaseVirtualDeviceBackingInfo {
	if d.VGPUProfile != "" {
		return &types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: d.VGPUProfile}
	}
	return &types.VirtualPCIPassthroughDynamicBackingInfo{
		AllowedDevice: []types.VirtualPCIPassthroughAllowedDevice{{VendorId: d.VendorID, DeviceId: d.DeviceID}}, CustomLabel: d.Label,
	}
}

// pciDevices returns the PCI devices that are not bound to a slot of a specific host, as this package never adds bound ones.
func pciDevices(devices []types.BaseVirtualDevice) []PCIDevice {
	var found []PCIDevice
	for _, device := range devices {
		passed, ok := device.(*types.VirtualPCIPassthrough)
		if !ok {
			continue
		}
		switch backing := passed.Backing.(type) {
		case *types.VirtualPCIPassthroughVmiopBackingInfo:
			found = append(found, PCIDevice{VGPUProfile: backing.Vgpu})
		case *types.VirtualPCIPassthroughDynamicBackingInfo:
			if len(backing.AllowedDevice) > 0 {
				allowed := backing.AllowedDevice[0]
				found = append(found, PCIDevice{VendorID: allowed.VendorId, DeviceID: allowed.DeviceId, Label: backing.CustomLabel})
			}
		}
	}
	return found
}
