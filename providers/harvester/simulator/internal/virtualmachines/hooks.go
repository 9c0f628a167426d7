// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"

	kubevirtv1 "kubevirt.io/api/core/v1"
)

// Boot holds copies of the boot data of a virtual machine.
type Boot struct {
	VM  *kubevirtv1.VirtualMachine
	VMI *kubevirtv1.VirtualMachineInstance
	// UserData and NetworkData are nil if not set.
	UserData, NetworkData []byte
	// Interfaces are the interfaces of the guest, with their addresses.
	Interfaces []kubevirtv1.VirtualMachineInstanceNetworkInterface
}

// Hooks are called for virtual machines. A hook may be called more than once for the same change; after an error it is retried.
type Hooks struct {
	// PowerOn is called when an instance starts to run. It is not called for a migration.
	PowerOn func(context.Context, Boot) error
	// PowerOff is called when an instance that was running, or its host, no longer is.
	PowerOff func(context.Context, *kubevirtv1.VirtualMachineInstance) error
	// Address returns the address of an instance's first interface, in place of the simulator's DHCP server. "" means that it has
	// none yet.
	Address func(context.Context, *kubevirtv1.VirtualMachineInstance) (string, error)
	// NIC is the guest's name of the first interface. Defaults to enp1s0.
	NIC string
	// Erase is called when a virtual machine has been deleted.
	Erase func(context.Context, *kubevirtv1.VirtualMachine) error
}
