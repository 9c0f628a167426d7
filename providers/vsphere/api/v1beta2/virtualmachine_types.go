// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// CloneMode is how a virtual machine is cloned from its template.
// +kubebuilder:validation:Enum=fullClone;linkedClone
type CloneMode string

const (
	// FullClone makes a machine that shares nothing with its template.
	FullClone CloneMode = "fullClone"

	// LinkedClone makes a machine whose disks depend on a snapshot of its
	// template. It is faster, and its disks cannot be made larger.
	LinkedClone CloneMode = "linkedClone"
)

// OS is the family of the guest operating system.
type OS string

const (
	// Linux guests are configured by cloud-init or Ignition.
	Linux OS = "Linux"

	// Windows guests are configured by Cloudbase-Init. Their names have at most
	// MaxWindowsNameLength characters.
	Windows OS = "Windows"
)

// VirtualMachinePowerOpMode is how a virtual machine is powered off.
// +kubebuilder:validation:Enum=hard;soft;trySoft
type VirtualMachinePowerOpMode string

const (
	// VirtualMachinePowerOpModeHard cuts the power without asking the guest.
	VirtualMachinePowerOpModeHard VirtualMachinePowerOpMode = "hard"

	// VirtualMachinePowerOpModeSoft asks the guest to shut down and waits for
	// as long as it takes. A guest without running VMware Tools never
	// answers, so the machine is never deleted.
	VirtualMachinePowerOpModeSoft VirtualMachinePowerOpMode = "soft"

	// VirtualMachinePowerOpModeTrySoft asks the guest to shut down and cuts
	// the power when it cannot be asked or takes too long.
	VirtualMachinePowerOpModeTrySoft VirtualMachinePowerOpMode = "trySoft"
)

// FtEncryptionMode is how traffic of Fault Tolerance is encrypted.
// +kubebuilder:validation:Enum=ftEncryptionDisabled;ftEncryptionOpportunistic;ftEncryptionRequired
type FtEncryptionMode string

// MigrateEncryption is how traffic of vMotion is encrypted.
// +kubebuilder:validation:Enum=disabled;opportunistic;required
type MigrateEncryption string

// ProvisioningMode is how a data disk takes its space.
// +kubebuilder:validation:Enum=Thin;Thick;EagerlyZeroed
type ProvisioningMode string

// VirtualMachineCloneSpec says from what, where and how a virtual machine is
// cloned. Names may be inventory paths wherever an inventory object is meant.
type VirtualMachineCloneSpec struct {
	// template is the name, inventory path or instance UUID of the template
	// or virtual machine to clone.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Template string `json:"template,omitempty"`

	// cloneMode is how to clone. Unless it is fullClone a linked clone is made
	// when the template has a snapshot, its disk does not bind that to another
	// datastore (vSAN, virtual volumes), and a host that may run the machine
	// mounts the datastores of both; else a full clone.
	// +optional
	CloneMode CloneMode `json:"cloneMode,omitempty"`

	// snapshot is the name of the template's snapshot that a linked clone
	// depends on. Defaults to the template's current snapshot.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Snapshot string `json:"snapshot,omitempty"`

	// server is the host, or host:port, of the vCenter. Defaults to that of
	// the VSphereCluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Server string `json:"server,omitempty"`

	// thumbprint is the SHA-1 or SHA-256 fingerprint of the vCenter's
	// certificate, hexadecimal pairs separated by colons. Without it an
	// authority that the manager's system trusts must vouch for the certificate.
	// On the server of the VSphereDeploymentZone or the VSphereCluster the
	// thumbprint of these is used if they have one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Thumbprint string `json:"thumbprint,omitempty"`

	// datacenter that the machine is created in. "*" means the only one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Datacenter string `json:"datacenter,omitempty"`

	// folder that the machine is created in. Defaults to the datacenter's
	// root folder for virtual machines.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Folder string `json:"folder,omitempty"`

	// datastore that the machine's files are put on.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Datastore string `json:"datastore,omitempty"`

	// storagePolicyName is the storage policy of the machine's files and disks.
	// Without a datastore, one of the policy is chosen.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	StoragePolicyName string `json:"storagePolicyName,omitempty"`

	// resourcePool that the machine is created in. Defaults to the root pool
	// of the failure domain's compute cluster, or of the only one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ResourcePool string `json:"resourcePool,omitempty"`

	// network is how the machine is connected.
	// +optional
	Network NetworkSpec `json:"network,omitempty,omitzero"`

	// numCPUs is the number of virtual processors. Defaults to 2, whatever the
	// template has; less is raised to it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	NumCPUs int32 `json:"numCPUs,omitempty"`

	// numCoresPerSocket is over how many cores a socket the processors are
	// spread. Defaults to one socket with all of them, whatever the template
	// has; 0 leaves it to vSphere 8 at power on.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NumCoresPerSocket *int32 `json:"numCoresPerSocket,omitempty"`

	// resources are reservations, limits and shares of processor and memory.
	// +optional
	Resources VirtualMachineResources `json:"resources,omitempty,omitzero"`

	// memoryMiB is the size of the memory. Defaults to 2048, whatever the
	// template has; less is raised to it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MemoryMiB int64 `json:"memoryMiB,omitempty"`

	// diskGiB is the size of the first disk. Defaults to the template's; it
	// cannot be smaller. A linked clone keeps the size of its snapshot.
	// +optional
	// +kubebuilder:validation:Minimum=1
	DiskGiB int32 `json:"diskGiB,omitempty"`

	// additionalDisksGiB are the sizes of the template's further disks, in
	// the template's order. 0 keeps the template's; a linked clone keeps the
	// sizes of its snapshot.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	AdditionalDisksGiB []int32 `json:"additionalDisksGiB,omitempty"`

	// customVMXKeys are advanced settings to add to the machine.
	// +optional
	CustomVMXKeys map[string]string `json:"customVMXKeys,omitempty"`

	// tagIDs are vSphere tags to attach to the machine, as URNs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	TagIDs []string `json:"tagIDs,omitempty"`

	// pciDevices are host devices to pass through.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	PciDevices []PCIDeviceSpec `json:"pciDevices,omitempty"`

	// os is the family of the guest operating system. Defaults to Linux.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	OS OS `json:"os,omitempty"`

	// hardwareVersion to upgrade the machine to, such as vmx-17.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	HardwareVersion string `json:"hardwareVersion,omitempty"`

	// dataDisks are disks to add that the template does not have.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=29
	DataDisks []VSphereDisk `json:"dataDisks,omitempty"`

	// nestedHV exposes hardware virtualization to the guest.
	// +optional
	NestedHV *bool `json:"nestedHV,omitempty"`

	// ftEncryptionMode is how Fault Tolerance traffic is encrypted.
	// +optional
	FtEncryptionMode FtEncryptionMode `json:"ftEncryptionMode,omitempty"`

	// migrateEncryption is how vMotion traffic is encrypted.
	// +optional
	MigrateEncryption MigrateEncryption `json:"migrateEncryption,omitempty"`

	// cryptoKeyID names the key provider that makes the key that the machine's
	// files are encrypted with, or a key that there is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	CryptoKeyID string `json:"cryptoKeyID,omitempty"`

	// cryptoProfile is the storage policy that encrypts the machine's files.
	// Its disks have storagePolicyName.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	CryptoProfile string `json:"cryptoProfile,omitempty"`
}

// VirtualMachineResources are reservations, limits and shares.
// +kubebuilder:validation:MinProperties=1
type VirtualMachineResources struct {
	// requests is what is reserved.
	// +optional
	Requests VirtualMachineResourceSpec `json:"requests,omitempty,omitzero"`

	// limits is what may be used at most.
	// +optional
	Limits VirtualMachineResourceSpec `json:"limits,omitempty,omitzero"`

	// shares weigh the machine against others when resources are short.
	// +optional
	Shares VirtualMachineResourceShares `json:"shares,omitempty,omitzero"`
}

// VirtualMachineResourceSpec is an amount of processor and of memory.
// +kubebuilder:validation:MinProperties=1
type VirtualMachineResourceSpec struct {
	// cpu in hertz, rounded up to megahertz.
	// +optional
	CPU resource.Quantity `json:"cpu,omitempty,omitzero"`

	// memory in bytes, rounded up to mebibytes.
	// +optional
	Memory resource.Quantity `json:"memory,omitempty,omitzero"`
}

// VirtualMachineResourceShares are shares of processor and of memory.
// +kubebuilder:validation:MinProperties=1
type VirtualMachineResourceShares struct {
	// cpu shares.
	// +optional
	// +kubebuilder:validation:Minimum=1
	CPU int32 `json:"cpu,omitempty"`

	// memory shares.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Memory int32 `json:"memory,omitempty"`
}

// VSphereDisk is a disk to add to the machine.
type VSphereDisk struct {
	// name tells the disk from the others.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// sizeGiB is the size of the disk.
	// +required
	// +kubebuilder:validation:Minimum=1
	SizeGiB int32 `json:"sizeGiB,omitempty"`

	// provisioningMode is how the disk takes its space. Defaults to that of
	// the storage policy.
	// +optional
	ProvisioningMode ProvisioningMode `json:"provisioningMode,omitempty"`
}

// PCIDeviceSpec is a host device, named either by deviceId and vendorId or by
// vGPUProfile.
type PCIDeviceSpec struct {
	// deviceId is the PCI device number.
	// +optional
	DeviceID *int32 `json:"deviceId,omitempty"`

	// vendorId is the PCI vendor number.
	// +optional
	VendorID *int32 `json:"vendorId,omitempty"`

	// vGPUProfile is the name of a virtual GPU profile.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	VGPUProfile string `json:"vGPUProfile,omitempty"`

	// customLabel is the hardware label of the device.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	CustomLabel string `json:"customLabel,omitempty"`
}
