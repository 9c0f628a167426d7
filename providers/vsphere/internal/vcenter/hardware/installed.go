// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"maps"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// Installed holds the hardware of a virtual machine that is configured between its clone and its first power-on.
type Installed struct {
	Version string // such as vmx-19
	PCI     []PCIDevice

	configuration string // version of the configuration that was read
}

// VersionProperty holds the hardware version of a virtual machine.
const VersionProperty = "config.version"

// Properties returns the properties that Read needs.
func Properties() []string {
	return []string{VersionProperty, "config.hardware.device", inventory.ChangeVersion}
}

// Read returns the hardware in properties of a virtual machine.
func Read(properties []types.DynamicProperty) Installed {
	var read Installed
	for _, property := range properties {
		switch property.Name {
		case VersionProperty:
			read.Version = inventory.As[string](property.Val)
		case inventory.ChangeVersion:
			read.configuration = inventory.As[string](property.Val)
		default:
			read.PCI = pciDevices(inventory.As[types.ArrayOfVirtualDevice](property.Val).VirtualDevice)
		}
	}
	return read
}

// OlderThan reports whether the hardware version is older than version, such as vmx-19.
func (i Installed) OlderThan(version string) (bool, error) {
	has, err := types.ParseHardwareVersion(i.Version)
	if err != nil {
		return false, fmt.Errorf("%w: the virtual machine has the invalid hardware version %q", vcerrors.ErrInvalid, i.Version)
	}
	wanted, err := types.ParseHardwareVersion(version)
	if err != nil {
		return false, fmt.Errorf("%w: hardware version %q must be one such as vmx-19", vcerrors.ErrInvalid, version)
	}
	return has < wanted, nil
}

// Adding returns the change that adds devices to a powered-off virtual machine whose hardware was just read. vCenter powers on
// a machine with such devices only with all of its memory reserved, so the change also locks the reservation to the memory
// size. vCenter rejects the change if the configuration has changed since it was read: retrying after a lost response does not
// add the devices twice.
func (i Installed) Adding(devices []PCIDevice) types.VirtualMachineConfigSpec {
	spec := types.VirtualMachineConfigSpec{ChangeVersion: i.configuration, MemoryReservationLockedToMax: types.NewBool(true)}
	for n, device := range devices {
		spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd,
			Device:    &types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{Key: -300 - int32(n), Backing: device.backing()}},
		})
	}
	return spec
}

// Seen caches the hardware of watched machines. The zero value is ready to use.
type Seen struct {
	mu    sync.Mutex
	known map[inventory.Ref]installedAt
}

type installedAt struct {
	version string // of the configuration, as reported by the stream
	Installed
}

// Get returns the cached hardware of a machine at this version of its configuration.
func (s *Seen) Get(r inventory.Ref, version string) (Installed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[r]
	return known.Installed, ok && version != "" && known.version == version
}

// Watched reports whether the hardware of a machine was requested before.
func (s *Seen) Watched(r inventory.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.known[r]
	return known
}

// Put caches the hardware of a machine. It drops the machines that are not shown any more.
func (s *Seen) Put(r inventory.Ref, version string, read Installed, shown func(inventory.Ref) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[inventory.Ref]installedAt{}
	}
	maps.DeleteFunc(s.known, func(other inventory.Ref, _ installedAt) bool { return !shown(other) })
	s.known[r] = installedAt{version, read}
}
