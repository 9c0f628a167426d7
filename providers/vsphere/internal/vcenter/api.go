// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// The words of a Session. What they mean is said where they are declared.
type (
	// VM is a virtual machine as the stream last reported it.
	VM = inventory.VM
	// GuestNIC is one of the machine's own network cards as the guest reports it.
	GuestNIC = inventory.GuestNIC
	// Location is where a virtual machine is.
	Location = inventory.Location
	// PowerState of a virtual machine, in vCenter's words.
	PowerState = inventory.PowerState
	// Task is a task on vCenter, whoever started it.
	Task = inventory.Task

	// Placement says where a virtual machine shall go, in names or inventory paths.
	Placement = inventory.Placement
	// Resolved is a Placement in references.
	Resolved = inventory.Resolved
	// NetworkBacking is what a network card needs to know of its network.
	NetworkBacking = inventory.NetworkBacking
	// CloneSpec describes a virtual machine to be made from a template.
	CloneSpec = hardware.CloneSpec
	// NICSpec describes a network card of it.
	NICSpec = hardware.NICSpec
	// NIC is a virtual network card.
	NIC = hardware.NIC
	// DataDisk is a disk that the template does not have.
	DataDisk = hardware.DataDisk
	// Provisioning is how a disk takes its space.
	Provisioning = hardware.Provisioning
	// Allocation is what of a resource a virtual machine is guaranteed, what it may use at most, and what it weighs.
	Allocation = hardware.Allocation
	// Policies are the storage policies of a virtual machine.
	Policies = hardware.Policies
	// Encryption is how a virtual machine is encrypted.
	Encryption = hardware.Encryption
	// Hardware is what of a virtual machine is settled between its clone and its first start.
	Hardware = hardware.Installed
	// PCIDevice is a device of the host that a virtual machine is powered on on.
	PCIDevice = hardware.PCIDevice

	// ZoneSpec is what a failure domain says of vSphere.
	ZoneSpec = inventory.ZoneSpec
	// ZoneTag is a tag and the kind of object that carries it.
	ZoneTag = inventory.ZoneTag
	// ZoneReport is what was found of a zone.
	ZoneReport = inventory.ZoneReport
	// Configure is what of a zone is made in vCenter where it is missing.
	Configure = inventory.Configure
	// TagName is a tag and its category by name.
	TagName = inventory.TagName
	// ConfiguredItem is something in a vCenter that is made, or may be.
	ConfiguredItem = inventory.ConfiguredItem
	// ConfiguredKind is a kind of it.
	ConfiguredKind = inventory.ConfiguredKind
	// ConfiguredRecord is what is known of an item that was made.
	ConfiguredRecord = inventory.ConfiguredRecord
	// ConfigurationStep is one thing that is to be done.
	ConfigurationStep = inventory.ConfigurationStep
)

// SurplusOf returns what is recorded as made and used by none of the zones whose uses are given, in the order in which it is
// removed.
func SurplusOf(records map[ConfiguredItem]ConfiguredRecord, uses ...map[ConfiguredItem]bool) []ConfiguredItem {
	return inventory.SurplusOf(records, uses...)
}

// PartOf reports whether an item is a tag of a category, or an attachment of a tag.
func PartOf(item, of ConfiguredItem) bool { return inventory.PartOf(item, of) }

// CompareConfigured orders items as they are made.
func CompareConfigured(a, b ConfiguredItem) int { return inventory.CompareConfigured(a, b) }

// MissingDevices returns what is wanted and not there. A device that is wanted twice has to be there twice.
func MissingDevices(there, wanted []PCIDevice) []PCIDevice {
	return hardware.MissingDevices(there, wanted)
}

// How a disk takes its space.
const (
	ThinDisk          = hardware.ThinDisk
	ThickDisk         = hardware.ThickDisk
	EagerlyZeroedDisk = hardware.EagerlyZeroedDisk
)

// States of virtual machines and tasks, in vCenter's words.
const (
	PoweredOn    = inventory.PoweredOn
	PoweredOff   = inventory.PoweredOff
	Orphaned     = inventory.Orphaned
	Inaccessible = inventory.Inaccessible
	Invalid      = inventory.Invalid
	TaskSuccess  = inventory.TaskSuccess
	TaskError    = inventory.TaskError
)

// RefersToDatacenter reports whether a Placement's datacenter may mean the one at an inventory path.
func RefersToDatacenter(value, inventoryPath string) bool {
	return inventory.RefersToDatacenter(value, inventoryPath)
}

// RefersToCluster reports whether a Placement's compute cluster may mean the one at an inventory path, in a datacenter.
func RefersToCluster(value, inventoryPath, datacenter string) bool {
	return inventory.RefersToCluster(value, inventoryPath, datacenter)
}

// What can go wrong, to be matched with errors.Is. The error's text says what, where, and what to do.
var (
	ErrNotFound      = vcerrors.ErrNotFound
	ErrAmbiguous     = vcerrors.ErrAmbiguous
	ErrInvalid       = vcerrors.ErrInvalid
	ErrDuplicateName = vcerrors.ErrDuplicateName
	ErrNoSnapshot    = vcerrors.ErrNoSnapshot
	ErrNoKeyProvider = vcerrors.ErrNoKeyProvider
	ErrTaskFailed    = vcerrors.ErrTaskFailed // every failed task, whatever else its error matches
	ErrForbidden     = vcerrors.ErrForbidden
	ErrNoTools       = vcerrors.ErrNoTools
	ErrUnsupported   = vcerrors.ErrUnsupported // by the host; of a task only
	ErrNoCapacity    = vcerrors.ErrNoCapacity  // on any host; of a task only

	// These say in which state a virtual machine is that an operation cannot be carried out in.
	ErrPoweredOn  = vcerrors.ErrPoweredOn
	ErrPoweredOff = vcerrors.ErrPoweredOff
	ErrUpgraded   = vcerrors.ErrUpgraded

	// These say that there is no session. SessionUp follows when there is one again.
	ErrUnreachable  = vcerrors.ErrUnreachable
	ErrUnauthorized = vcerrors.ErrUnauthorized
	ErrThumbprint   = vcerrors.ErrThumbprint
	ErrUntrusted    = vcerrors.ErrUntrusted
	ErrTooMany      = vcerrors.ErrTooMany
	ErrConnecting   = vcerrors.ErrConnecting

	// ErrUnavailable says that vCenter is there but could not serve this call now. No event follows: try again.
	ErrUnavailable = vcerrors.ErrUnavailable
)

// LookupError says that a field of a specification names nothing, or too much.
type LookupError = vcerrors.LookupError

// NoSession reports whether err says why there is no session. It ends by a SessionUp event.
func NoSession(err error) bool { return vcerrors.NoSession(err) }
