// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// Aliases for the types in the signatures of Session's methods. They are documented where they are declared.
type (
	// VM is a virtual machine as last reported by the stream.
	VM = inventory.VM
	// GuestNIC is one of the machine's own network cards, as reported by the guest.
	GuestNIC = inventory.GuestNIC
	// Location is the location of a virtual machine in the inventory.
	Location = inventory.Location
	// PowerState is the power state of a virtual machine, in vCenter's terms.
	PowerState = inventory.PowerState
	// Task is a task on vCenter, including tasks started by other clients.
	Task = inventory.Task

	// Placement holds where to place a virtual machine, as names or inventory paths.
	Placement = inventory.Placement
	// Resolved is a Placement resolved to references.
	Resolved = inventory.Resolved
	// NetworkBacking holds what a network card needs to connect to its network.
	NetworkBacking = inventory.NetworkBacking
	// CloneSpec describes a virtual machine to create from a template.
	CloneSpec = hardware.CloneSpec
	// NICSpec describes a network card of a CloneSpec.
	NICSpec = hardware.NICSpec
	// NIC is a virtual network card.
	NIC = hardware.NIC
	// DataDisk is a disk added to those of the template.
	DataDisk = hardware.DataDisk
	// Provisioning is the provisioning type of a disk.
	Provisioning = hardware.Provisioning
	// Allocation holds the reservation, limit and shares of a resource.
	Allocation = hardware.Allocation
	// Policies are the storage policies of a virtual machine.
	Policies = hardware.Policies
	// Encryption holds how to encrypt a virtual machine.
	Encryption = hardware.Encryption
	// Hardware is the hardware of a virtual machine that is configured between its clone and its first power-on.
	Hardware = hardware.Installed
	// PCIDevice is a device of the host on which a virtual machine is powered on.
	PCIDevice = hardware.PCIDevice

	// ZoneSpec holds the vSphere part of a failure domain.
	ZoneSpec = inventory.ZoneSpec
	// ZoneTag is a tag and the kind of object that carries it.
	ZoneTag = inventory.ZoneTag
	// ZoneReport holds the result of checking a zone.
	ZoneReport = inventory.ZoneReport
	// Configure selects what is created in vCenter where it is missing from a zone.
	Configure = inventory.Configure
	// TagName holds the names of a tag and its category.
	TagName = inventory.TagName
	// ConfiguredItem identifies an object in vCenter that a zone uses and that can be created for it.
	ConfiguredItem = inventory.ConfiguredItem
	// ConfiguredKind is the kind of a ConfiguredItem.
	ConfiguredKind = inventory.ConfiguredKind
	// ConfiguredRecord holds what is recorded about an item that was created.
	ConfiguredRecord = inventory.ConfiguredRecord
	// ConfigurationStep is a single change to make in vCenter.
	ConfigurationStep = inventory.ConfigurationStep
)

// SurplusOf returns the items that are recorded as created and appear in none of uses, in the order in which they must be
// removed.
func SurplusOf(records map[ConfiguredItem]ConfiguredRecord, uses ...map[ConfiguredItem]bool) []ConfiguredItem {
	return inventory.SurplusOf(records, uses...)
}

// PartOf reports whether item is a tag of a category, or an attachment of a tag.
func PartOf(item, of ConfiguredItem) bool { return inventory.PartOf(item, of) }

// CompareConfigured orders items in the order in which they are created.
func CompareConfigured(a, b ConfiguredItem) int { return inventory.CompareConfigured(a, b) }

// MissingDevices returns the wanted devices that are not there. A device that is wanted twice must be there twice.
func MissingDevices(there, wanted []PCIDevice) []PCIDevice {
	return hardware.MissingDevices(there, wanted)
}

// Provisioning types of a disk.
const (
	ThinDisk          = hardware.ThinDisk
	ThickDisk         = hardware.ThickDisk
	EagerlyZeroedDisk = hardware.EagerlyZeroedDisk
)

// States of virtual machines and tasks, in vCenter's terms.
const (
	PoweredOn    = inventory.PoweredOn
	PoweredOff   = inventory.PoweredOff
	Orphaned     = inventory.Orphaned
	Inaccessible = inventory.Inaccessible
	Invalid      = inventory.Invalid
	TaskSuccess  = inventory.TaskSuccess
	TaskError    = inventory.TaskError
)

// RefersToDatacenter reports whether a Placement's datacenter can refer to the datacenter at an inventory path.
func RefersToDatacenter(value, inventoryPath string) bool {
	return inventory.RefersToDatacenter(value, inventoryPath)
}

// RefersToCluster reports whether a Placement's compute cluster can refer to the compute cluster at an inventory path in a
// datacenter.
func RefersToCluster(value, inventoryPath, datacenter string) bool {
	return inventory.RefersToCluster(value, inventoryPath, datacenter)
}

// Errors to match with errors.Is. The error text states what failed, where, and how to fix it.
var (
	ErrNotFound      = vcerrors.ErrNotFound
	ErrAmbiguous     = vcerrors.ErrAmbiguous
	ErrInvalid       = vcerrors.ErrInvalid
	ErrDuplicateName = vcerrors.ErrDuplicateName
	ErrNoSnapshot    = vcerrors.ErrNoSnapshot
	ErrNoKeyProvider = vcerrors.ErrNoKeyProvider
	ErrTaskFailed    = vcerrors.ErrTaskFailed // every failed task, in addition to what its error matches
	ErrForbidden     = vcerrors.ErrForbidden
	ErrNoTools       = vcerrors.ErrNoTools
	ErrUnsupported   = vcerrors.ErrUnsupported // by the host; from a task only
	ErrNoCapacity    = vcerrors.ErrNoCapacity  // on any host; from a task only

	// The virtual machine is in a state in which the operation is not possible.
	ErrPoweredOn  = vcerrors.ErrPoweredOn
	ErrPoweredOff = vcerrors.ErrPoweredOff
	ErrUpgraded   = vcerrors.ErrUpgraded

	// There is no session. A SessionUp event follows when there is one again.
	ErrUnreachable  = vcerrors.ErrUnreachable
	ErrUnauthorized = vcerrors.ErrUnauthorized
	ErrThumbprint   = vcerrors.ErrThumbprint
	ErrUntrusted    = vcerrors.ErrUntrusted
	ErrTooMany      = vcerrors.ErrTooMany
	ErrConnecting   = vcerrors.ErrConnecting

	// ErrUnavailable means that vCenter is reachable but could not serve this call. No event follows: the caller must retry.
	ErrUnavailable = vcerrors.ErrUnavailable
)

// LookupError reports that a field of a specification matches no object, or more than one.
type LookupError = vcerrors.LookupError

// NoSession reports whether err explains why there is no session. A SessionUp event follows when there is one again.
func NoSession(err error) bool { return vcerrors.NoSession(err) }
