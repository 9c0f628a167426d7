// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"

	kubevirtv1 "kubevirt.io/api/core/v1"
)

// Boot is what a virtual machine boots from. All are copies.
type Boot struct {
	VM  *kubevirtv1.VirtualMachine
	VMI *kubevirtv1.VirtualMachineInstance
	// UserData and NetworkData are nil without them.
	UserData, NetworkData []byte
	// Interfaces are the ones it will have, with their addresses.
	Interfaces []kubevirtv1.VirtualMachineInstanceNetworkInterface
}

// Hooks hear of virtual machines. A hook may be called again for what it has done already; after an error it is called again later.
type Hooks struct {
	// PowerOn is called when an instance begins to run. It is not called when one migrates.
	PowerOn func(context.Context, Boot) error
	// PowerOff is called when an instance that has run is gone, or its host.
	PowerOff func(context.Context, *kubevirtv1.VirtualMachineInstance) error
	// Address is asked for the address of an instance's first interface, in the place of a DHCP server of the simulator's. "" is that
	// it has none yet.
	Address func(context.Context, *kubevirtv1.VirtualMachineInstance) (string, error)
	// NIC is what guests call their first interface; enp1s0 without it.
	NIC string
	// Erase is called when a virtual machine is gone.
	Erase func(context.Context, *kubevirtv1.VirtualMachine) error
}
