// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

func diskAt(controller, unit int32) *types.VirtualDisk {
	return &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Key: 2000 + unit, ControllerKey: controller, UnitNumber: &unit}}
}

func TestDataDisksUseFreeControllerSlots(t *testing.T) {
	t.Parallel()
	base := func(key int32) types.VirtualController {
		return types.VirtualController{VirtualDevice: types.VirtualDevice{Key: key}}
	}
	scsi := func(key int32) types.VirtualSCSIController {
		return types.VirtualSCSIController{VirtualController: base(key), ScsiCtlrUnitNumber: 7}
	}
	paravirtual := func(key int32) *types.ParaVirtualSCSIController {
		return &types.ParaVirtualSCSIController{VirtualSCSIController: scsi(key)}
	}
	logic := &types.VirtualLsiLogicController{VirtualSCSIController: scsi(1000)}
	sata := &types.VirtualAHCIController{VirtualSATAController: types.VirtualSATAController{VirtualController: base(15000)}}
	nvme := &types.VirtualNVMEController{VirtualController: base(31000)}
	for name, test := range map[string]struct {
		devices     object.VirtualDeviceList
		hardware    string
		free        int
		first, last diskSlot
	}{
		"paravirtual":                       {object.VirtualDeviceList{paravirtual(1000), diskAt(1000, 0)}, "vmx-19", 62, diskSlot{1000, 1}, diskSlot{1000, 63}},
		"paravirtual and old":               {object.VirtualDeviceList{paravirtual(1000), diskAt(1000, 0)}, "vmx-13", 14, diskSlot{1000, 1}, diskSlot{1000, 15}},
		"paravirtual, of its time":          {object.VirtualDeviceList{paravirtual(1000), diskAt(1000, 0)}, "vmx-14", 62, diskSlot{1000, 1}, diskSlot{1000, 63}},
		"LSI Logic":                         {object.VirtualDeviceList{logic, diskAt(1000, 0)}, "vmx-19", 14, diskSlot{1000, 1}, diskSlot{1000, 15}},
		"the next controller is taken, too": {object.VirtualDeviceList{logic, paravirtual(1001), diskAt(1000, 0)}, "vmx-19", 14 + 63, diskSlot{1000, 1}, diskSlot{1001, 63}},
		"the first disk's comes first":      {object.VirtualDeviceList{logic, paravirtual(1001), diskAt(1001, 0)}, "vmx-19", 62 + 15, diskSlot{1001, 1}, diskSlot{1000, 15}},
		"SATA":                              {object.VirtualDeviceList{sata, diskAt(15000, 0)}, "vmx-19", 29, diskSlot{15000, 1}, diskSlot{15000, 29}},
		"NVMe":                              {object.VirtualDeviceList{nvme, diskAt(31000, 0)}, "vmx-19", 14, diskSlot{31000, 1}, diskSlot{31000, 14}},
		"gaps are filled":                   {object.VirtualDeviceList{logic, diskAt(1000, 1), diskAt(1000, 3)}, "vmx-19", 13, diskSlot{1000, 0}, diskSlot{1000, 15}},
		"no disk":                           {object.VirtualDeviceList{logic}, "vmx-19", 15, diskSlot{1000, 0}, diskSlot{1000, 15}},
		"no controller":                     {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			free := Template{Devices: test.devices, Hardware: test.hardware}.freeSlots()
			g.Expect(free).To(HaveLen(test.free))
			if test.free == 0 {
				return
			}
			g.Expect([]diskSlot{free[0], free[len(free)-1]}).To(Equal([]diskSlot{test.first, test.last}))
			for _, place := range free {
				if place.controller < 15000 {
					g.Expect(place.unit).NotTo(BeEquivalentTo(scsiControllerAt), "that is the controller's own")
				}
			}
		})
	}
}

func TestEmptyAllocationKeepsTemplate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Allocation{}.info()).To(BeNil())
	shares := Allocation{Shares: 7}.info()
	g.Expect(shares.Reservation).To(BeNil())
	g.Expect(shares.Limit).To(BeNil())
	g.Expect(*shares.Shares).To(Equal(types.SharesInfo{Shares: 7, Level: types.SharesLevelCustom}))
}
