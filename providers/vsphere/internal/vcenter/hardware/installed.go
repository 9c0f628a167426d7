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

// Installed is what of a virtual machine is settled between its clone and its first start.
type Installed struct {
	Version string // such as vmx-19
	PCI     []PCIDevice

	configuration string // that this was read of
}

// VersionProperty has the version of a virtual machine's hardware.
const VersionProperty = "config.version"

// Properties are those that Read reads.
func Properties() []string {
	return []string{VersionProperty, "config.hardware.device", inventory.ChangeVersion}
}

// Read returns what vCenter has told of a virtual machine.
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

// OlderThan reports whether the hardware is of an older version than another, such as vmx-19.
func (i Installed) OlderThan(version string) (bool, error) {
	has, err := types.ParseHardwareVersion(i.Version)
	if err != nil {
		return false, fmt.Errorf("%w: the virtual machine has hardware version %q, which is none", vcerrors.ErrInvalid, i.Version)
	}
	wanted, err := types.ParseHardwareVersion(version)
	if err != nil {
		return false, fmt.Errorf("%w: hardware version %q is none, such as vmx-19", vcerrors.ErrInvalid, version)
	}
	return has < wanted, nil
}

// Adding is the change that adds devices to a virtual machine that is off, the hardware of which was read just now. vCenter powers
// a machine with such devices on only with all of its memory reserved, whatever size it has, so that goes with them. It refuses
// if the configuration has changed since it was read: a call of which the answer was lost does not add the devices twice.
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

// Seen remembers the hardware of the machines that somebody keeps an eye on. Its zero value is ready to use.
type Seen struct {
	mu    sync.Mutex
	known map[inventory.Ref]installedAt
}

type installedAt struct {
	version string // of the configuration, as the stream has reported it
	Installed
}

// Get returns what was read of a machine at this version of its configuration.
func (s *Seen) Get(r inventory.Ref, version string) (Installed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[r]
	return known.Installed, ok && version != "" && known.version == version
}

// Watched reports whether somebody keeps an eye on the hardware of a machine.
func (s *Seen) Watched(r inventory.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.known[r]
	return known
}

// Put forgets the machines that are not shown any more.
func (s *Seen) Put(r inventory.Ref, version string, read Installed, shown func(inventory.Ref) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[inventory.Ref]installedAt{}
	}
	maps.DeleteFunc(s.known, func(other inventory.Ref, _ installedAt) bool { return !shown(other) })
	s.known[r] = installedAt{version, read}
}
