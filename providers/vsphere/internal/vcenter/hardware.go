// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// Hardware is what of a virtual machine is settled between its clone and its first start.
type Hardware struct {
	Version string // such as vmx-19
	PCI     []PCIDevice

	configuration string // that this was read of
}

// Hardware reads the hardware of a virtual machine: one call.
func (s *Session) Hardware(ctx context.Context, vmRef string) (Hardware, error) {
	var read Hardware
	r := inventory.ParseRef("VirtualMachine", vmRef)
	properties := []string{"config.version", "config.hardware.device", inventory.ChangeVersion}
	err := s.api.Retrieve(ctx, "reading the hardware of "+r.Value, r, properties, func(p []types.DynamicProperty) {
		for _, property := range p {
			switch property.Name {
			case "config.version":
				read.Version = inventory.As[string](property.Val)
			case inventory.ChangeVersion:
				read.configuration = inventory.As[string](property.Val)
			default:
				read.PCI = pciDevices(inventory.As[types.ArrayOfVirtualDevice](property.Val).VirtualDevice)
			}
		}
	})
	return read, err
}

// HardwareSeen is Hardware from memory as long as the stream reports no change of the configuration: no call. From the first time on
// each such change is a VMChanged event.
func (s *Session) HardwareSeen(ctx context.Context, vmRef string) (Hardware, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	version := s.index.VersionOf(r)
	if known, ok := s.hardware.get(r, version); ok {
		return known, nil
	}
	read, err := s.Hardware(ctx, vmRef)
	if err == nil {
		s.hardware.put(r, version, read, func(other inventory.Ref) bool { _, shown := s.index.VMOf(other); return shown })
	}
	return read, err
}

// hardwareSeen remembers the hardware of the machines that somebody keeps an eye on. Its zero value is ready to use.
type hardwareSeen struct {
	mu    sync.Mutex
	known map[inventory.Ref]hardwareOf
}

type hardwareOf struct {
	version string // of the configuration, as the stream has reported it
	Hardware
}

func (h *hardwareSeen) get(r inventory.Ref, version string) (Hardware, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.known[r]
	return known.Hardware, ok && version != "" && known.version == version
}

// watched reports whether somebody keeps an eye on the hardware of a machine.
func (h *hardwareSeen) watched(r inventory.Ref) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known := h.known[r]
	return known
}

// put forgets the machines that are not shown any more.
func (h *hardwareSeen) put(r inventory.Ref, version string, read Hardware, shown func(inventory.Ref) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = map[inventory.Ref]hardwareOf{}
	}
	maps.DeleteFunc(h.known, func(other inventory.Ref, _ hardwareOf) bool { return !shown(other) })
	h.known[r] = hardwareOf{version, read}
}

// OlderThan reports whether the hardware is of an older version than another, such as vmx-19.
func (h Hardware) OlderThan(version string) (bool, error) {
	has, err := types.ParseHardwareVersion(h.Version)
	if err != nil {
		return false, fmt.Errorf("%w: the virtual machine has hardware version %q, which is none", vcerrors.ErrInvalid, h.Version)
	}
	wanted, err := types.ParseHardwareVersion(version)
	if err != nil {
		return false, fmt.Errorf("%w: hardware version %q is none, such as vmx-19", vcerrors.ErrInvalid, version)
	}
	return has < wanted, nil
}

// UpgradeHardware starts to give a virtual machine that is off a newer version of virtual hardware, which cannot be undone.
func (s *Session) UpgradeHardware(ctx context.Context, vmRef, version string) (string, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.start(ctx, "upgrading the hardware of "+r.Value, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.UpgradeVM_Task(ctx, rt, &types.UpgradeVM_Task{This: r, Version: version})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
}
