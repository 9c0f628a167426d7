// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// Hardware reads the hardware of a virtual machine in one call.
func (s *Session) Hardware(ctx context.Context, vmRef string) (hardware.Installed, error) {
	var read hardware.Installed
	r := inventory.ParseRef("VirtualMachine", vmRef)
	err := s.api.Retrieve(ctx, "reading the hardware of "+r.Value, r, hardware.Properties(), func(p []types.DynamicProperty) {
		read = hardware.Read(p)
	})
	return read, err
}

// HardwareSeen is Hardware from the cache, without a call, as long as the stream reports no change of the configuration. After
// the first call each such change emits a VMChanged event.
func (s *Session) HardwareSeen(ctx context.Context, vmRef string) (hardware.Installed, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	version := s.index.VersionOf(r)
	if known, ok := s.hardware.Get(r, version); ok {
		return known, nil
	}
	read, err := s.Hardware(ctx, vmRef)
	if err == nil {
		s.hardware.Put(r, version, read, func(other inventory.Ref) bool { _, shown := s.index.VMOf(other); return shown })
	}
	return read, err
}

// UpgradeHardware starts to upgrade the virtual hardware of a powered-off virtual machine. The upgrade cannot be undone.
func (s *Session) UpgradeHardware(ctx context.Context, vmRef, version string) (string, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.stream.Start(ctx, "upgrading the hardware of "+r.Value, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.UpgradeVM_Task(ctx, rt, &types.UpgradeVM_Task{This: r, Version: version})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
}

// AddPCIDevices starts to add devices to a powered-off virtual machine. read is its hardware as just read. vCenter rejects the
// change if the configuration has changed since.
func (s *Session) AddPCIDevices(ctx context.Context, vmRef string, read hardware.Installed, devices []hardware.PCIDevice) (string, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.reconfigure(ctx, "adding devices to "+r.Value, r, read.Adding(devices))
}
