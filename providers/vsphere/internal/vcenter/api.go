// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/configuration"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/encryption"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/lookup"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/storagepolicy"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/zones"
)

// The words of a Session. What they mean is said where they are declared: nobody else can import the packages below this one.
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
	Placement = lookup.Placement
	// Resolved is a Placement in references.
	Resolved = lookup.Resolved
	// NetworkBacking is what a network card needs to know of its network.
	NetworkBacking = lookup.NetworkBacking
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

	// Kept is what shall be kept on a datastore of a storage policy.
	Kept = storagepolicy.Kept
	// ZoneSpec is what a failure domain says of vSphere.
	ZoneSpec = lookup.ZoneSpec
	// ZoneTag is a tag and the kind of object that carries it.
	ZoneTag = lookup.ZoneTag
	// ZoneReason says what is wrong with a zone.
	ZoneReason = lookup.ZoneReason
	// ZoneCheck is one thing that is looked at.
	ZoneCheck = lookup.ZoneCheck
	// ZoneProblem is one thing that is wrong with a zone, and what to do about it.
	ZoneProblem = lookup.ZoneProblem
	// ZoneReport is what was found of a zone.
	ZoneReport = lookup.ZoneReport
	// Configure is what of a zone is made in vCenter where it is missing.
	Configure = lookup.Configure
	// ZonePlan is what is to be made in vCenter for a zone.
	ZonePlan = zones.Plan
	// Outcome is what came of what was to be done for a zone.
	Outcome = zones.Outcome
	// TagName is a tag and its category by name.
	TagName = inventory.TagName
	// ConfiguredItem is something in a vCenter that is made, or may be.
	ConfiguredItem = configuration.Item
	// ConfiguredKind is a kind of it.
	ConfiguredKind = configuration.Kind
	// ConfiguredRecord is what is known of an item that was made.
	ConfiguredRecord = configuration.Record
	// ConfigurationStep is one thing that is to be done.
	ConfigurationStep = configuration.Step
)

// SurplusOf returns what is recorded as made and used by none of the zones whose uses are given, in the order in which it is
// removed.
func SurplusOf(records map[ConfiguredItem]ConfiguredRecord, uses ...map[ConfiguredItem]bool) []ConfiguredItem {
	return configuration.Surplus(records, uses...)
}

// PartOf reports whether an item is a tag of a category, or an attachment of a tag.
func PartOf(item, of ConfiguredItem) bool { return configuration.PartOf(item, of) }

// CompareConfigured orders items as they are made.
func CompareConfigured(a, b ConfiguredItem) int { return configuration.Compare(a, b) }

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

// Fields of specifications that a LookupError about policies or encryption names.
const (
	FieldStoragePolicy = storagepolicy.Field
	FieldCryptoProfile = encryption.FieldProfile
	FieldCryptoKey     = encryption.FieldKey
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

// What can be wrong with a zone.
const (
	DatacenterNotFound     = lookup.DatacenterNotFound
	ComputeClusterNotFound = lookup.ComputeClusterNotFound
	ResourcePoolNotFound   = lookup.ResourcePoolNotFound
	FolderNotFound         = lookup.FolderNotFound
	DatastoreNotFound      = lookup.DatastoreNotFound
	NetworkNotFound        = lookup.NetworkNotFound
	TemplateNotFound       = lookup.TemplateNotFound
	RegionMisconfigured    = lookup.RegionMisconfigured
	ZoneMisconfigured      = lookup.ZoneMisconfigured
	HostsMisconfigured     = lookup.HostsMisconfigured
	NoUsableHost           = lookup.NoUsableHost
)

// ZoneChecks returns every check of a zone, in the order in which problems are reported.
func ZoneChecks() []ZoneCheck { return lookup.ZoneChecks() }

// RefersToDatacenter reports whether a Placement's datacenter may mean the one at an inventory path.
func RefersToDatacenter(value, inventoryPath string) bool {
	return lookup.RefersToDatacenter(value, inventoryPath)
}

// RefersToCluster reports whether a Placement's compute cluster may mean the one at an inventory path, in a datacenter.
func RefersToCluster(value, inventoryPath, datacenter string) bool {
	return lookup.RefersToCluster(value, inventoryPath, datacenter)
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
