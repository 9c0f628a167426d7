// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"bytes"
	"log"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// OwnDevices gives a new VM its own controllers. vcsim shares them between all VMs of the process, and adds the keys of each VM's
// devices to them. The VM is locked by the task that creates it.
func OwnDevices(vm *simulator.VirtualMachine) {
	if vm.Runtime.Host != nil || vm.Config == nil {
		return // it exists and is being moved
	}
	shared := types.ArrayOfVirtualDevice{VirtualDevice: vm.Config.Hardware.Device}
	var own types.ArrayOfVirtualDevice
	text, err := xml.Marshal(shared)
	if err == nil {
		decoder := xml.NewDecoder(bytes.NewReader(text))
		decoder.TypeFunc = types.TypeFunc()
		err = decoder.Decode(&own)
	}
	if err != nil {
		log.Printf("simulator: copying the devices of %s: %v", vm.Name, err)
		return
	}
	vm.Config.Hardware.Device = own.VirtualDevice
}
