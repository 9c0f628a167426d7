// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// CloneMode is the mode in which a virtual machine is cloned from its template.
// +kubebuilder:validation:Enum=fullClone;linkedClone
type CloneMode string

const (
	// FullClone creates a virtual machine that is independent of its template.
	FullClone CloneMode = "fullClone"

	// LinkedClone creates a virtual machine whose disks depend on a snapshot of its template. It is faster, but the disks
	// cannot be enlarged.
	LinkedClone CloneMode = "linkedClone"
)

// OS is the family of the guest operating system.
type OS string

const (
	// Linux guests are configured by cloud-init or Ignition.
	Linux OS = "Linux"

	// Windows guests are configured by Cloudbase-Init. Their names have at most MaxWindowsNameLength characters.
	Windows OS = "Windows"
)

// VirtualMachinePowerOpMode is the mode in which a virtual machine is powered off.
// +kubebuilder:validation:Enum=hard;soft;trySoft
type VirtualMachinePowerOpMode string

const (
	// VirtualMachinePowerOpModeHard powers off without shutting down the guest.
	VirtualMachinePowerOpModeHard VirtualMachinePowerOpMode = "hard"

	// VirtualMachinePowerOpModeSoft shuts down the guest and waits indefinitely. A guest without running VMware Tools never
	// shuts down, so the machine is never deleted.
	VirtualMachinePowerOpModeSoft VirtualMachinePowerOpMode = "soft"

	// VirtualMachinePowerOpModeTrySoft shuts down the guest, and powers off if that is not possible or takes too long.
	VirtualMachinePowerOpModeTrySoft VirtualMachinePowerOpMode = "trySoft"
)

// FtEncryptionMode is the encryption mode of Fault Tolerance traffic.
// +kubebuilder:validation:Enum=ftEncryptionDisabled;ftEncryptionOpportunistic;ftEncryptionRequired
type FtEncryptionMode string

// MigrateEncryption is the encryption mode of vMotion traffic.
// +kubebuilder:validation:Enum=disabled;opportunistic;required
type MigrateEncryption string

// ProvisioningMode is the provisioning type of a data disk.
// +kubebuilder:validation:Enum=Thin;Thick;EagerlyZeroed
type ProvisioningMode string

// VirtualMachineCloneSpec defines the template, placement and hardware of a virtual machine. Fields that name an inventory
// object accept an inventory path, too.
type VirtualMachineCloneSpec struct {
	// template is the name, inventory path or instance UUID of the template or virtual machine to clone.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Template string `json:"template,omitempty"`

	// cloneMode is the clone mode. Unless it is fullClone, a linked clone is created if the template has a snapshot, its disk
	// can have children on another datastore (not on vSAN or virtual volumes), and a host that may run the machine mounts the
	// datastores of both. Otherwise a full clone is created.
	// +optional
	CloneMode CloneMode `json:"cloneMode,omitempty"`

	// snapshot is the name of the template's snapshot for a linked clone. Defaults to the template's current snapshot.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Snapshot string `json:"snapshot,omitempty"`

	// server is the host, or host:port, of the vCenter. Defaults to the server of the VSphereCluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Server string `json:"server,omitempty"`

	// thumbprint is the SHA-1 or SHA-256 fingerprint of the vCenter's certificate, as hexadecimal pairs separated by colons. If
	// omitted, the certificate must be signed by an authority that the manager's system trusts. The thumbprint of the
	// VSphereDeploymentZone or VSphereCluster takes precedence if it has one and is on the same server.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Thumbprint string `json:"thumbprint,omitempty"`

	// datacenter in which the machine is created. "*" stands for the only one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Datacenter string `json:"datacenter,omitempty"`

	// folder in which the machine is created. Defaults to the datacenter's root folder for virtual machines.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Folder string `json:"folder,omitempty"`

	// datastore on which the machine's files are placed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Datastore string `json:"datastore,omitempty"`

	// storagePolicyName is the storage policy of the machine's files and disks. If datastore is omitted, a compatible one is
	// chosen.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	StoragePolicyName string `json:"storagePolicyName,omitempty"`

	// resourcePool in which the machine is created. Defaults to the root pool of the failure domain's compute cluster, or of
	// the only compute cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ResourcePool string `json:"resourcePool,omitempty"`

	// network defines the network of the machine.
	// +optional
	Network NetworkSpec `json:"network,omitempty,omitzero"`

	// numCPUs is the number of virtual processors. Defaults to 2, regardless of the template; smaller values are raised to 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	NumCPUs int32 `json:"numCPUs,omitempty"`

	// numCoresPerSocket is the number of cores per socket. Defaults to one socket with all processors, regardless of the
	// template. With 0, vSphere 8 chooses the number at power-on.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NumCoresPerSocket *int32 `json:"numCoresPerSocket,omitempty"`

	// resources are the reservations, limits and shares of CPU and memory.
	// +optional
	Resources VirtualMachineResources `json:"resources,omitempty,omitzero"`

	// memoryMiB is the memory size in MiB. Defaults to 2048, regardless of the template; smaller values are raised to 2048.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MemoryMiB int64 `json:"memoryMiB,omitempty"`

	// diskGiB is the size of the first disk in GiB. Defaults to the template's, which is the minimum. A linked clone keeps the
	// size of its snapshot.
	// +optional
	// +kubebuilder:validation:Minimum=1
	DiskGiB int32 `json:"diskGiB,omitempty"`

	// additionalDisksGiB are the sizes of the template's other disks in GiB, in the template's order. 0 keeps the template's
	// size. A linked clone keeps the sizes of its snapshot.
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

	// hardwareVersion to which the machine is upgraded, such as vmx-17.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	HardwareVersion string `json:"hardwareVersion,omitempty"`

	// dataDisks are disks to add to those of the template.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=29
	DataDisks []VSphereDisk `json:"dataDisks,omitempty"`

	// nestedHV exposes hardware virtualization to the guest.
	// +optional
	NestedHV *bool `json:"nestedHV,omitempty"`

	// ftEncryptionMode is the encryption mode of Fault Tolerance traffic.
	// +optional
	FtEncryptionMode FtEncryptionMode `json:"ftEncryptionMode,omitempty"`

	// migrateEncryption is the encryption mode of vMotion traffic.
	// +optional
	MigrateEncryption MigrateEncryption `json:"migrateEncryption,omitempty"`

	// cryptoKeyID names the key provider that creates the encryption key of the machine's files, or an existing key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	CryptoKeyID string `json:"cryptoKeyID,omitempty"`

	// cryptoProfile is the storage policy that encrypts the machine's files. Its disks use storagePolicyName.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	CryptoProfile string `json:"cryptoProfile,omitempty"`
}

// VirtualMachineResources defines reservations, limits and shares.
// +kubebuilder:validation:MinProperties=1
type VirtualMachineResources struct {
	// requests are the reserved amounts.
	// +optional
	Requests VirtualMachineResourceSpec `json:"requests,omitempty,omitzero"`

	// limits are the maximum amounts.
	// +optional
	Limits VirtualMachineResourceSpec `json:"limits,omitempty,omitzero"`

	// shares are the relative weights of the machine under contention.
	// +optional
	Shares VirtualMachineResourceShares `json:"shares,omitempty,omitzero"`
}

// VirtualMachineResourceSpec is an amount of CPU and memory.
// +kubebuilder:validation:MinProperties=1
type VirtualMachineResourceSpec struct {
	// cpu in hertz, rounded up to megahertz.
	// +optional
	CPU resource.Quantity `json:"cpu,omitempty,omitzero"`

	// memory in bytes, rounded up to mebibytes.
	// +optional
	Memory resource.Quantity `json:"memory,omitempty,omitzero"`
}

// VirtualMachineResourceShares are shares of CPU and memory.
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

// VSphereDisk defines a disk to add to the machine.
type VSphereDisk struct {
	// name identifies the disk.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// sizeGiB is the size of the disk in GiB.
	// +required
	// +kubebuilder:validation:Minimum=1
	SizeGiB int32 `json:"sizeGiB,omitempty"`

	// provisioningMode is the provisioning type of the disk. Defaults to that of the storage policy.
	// +optional
	ProvisioningMode ProvisioningMode `json:"provisioningMode,omitempty"`
}

// PCIDeviceSpec selects a host device, either by deviceId and vendorId or by vGPUProfile.
type PCIDeviceSpec struct {
	// deviceId is the PCI device ID.
	// +optional
	DeviceID *int32 `json:"deviceId,omitempty"`

	// vendorId is the PCI vendor ID.
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
