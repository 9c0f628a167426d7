// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// CloneMode is the mode in which a virtual machine is cloned from its template: fullClone or linkedClone.
type CloneMode string

// VirtualMachineCloneSpec defines the template, placement and hardware of a virtual machine. Fields that name an inventory
// object accept an inventory path, too.
type VirtualMachineCloneSpec struct {
	// template is the name, inventory path or instance UUID of the template or virtual machine to clone.
	// +required
	// +kubebuilder:validation:MinLength=1
	Template string `json:"template"`

	// cloneMode is the clone mode. Unless it is fullClone, a linked clone is created if the template has a snapshot.
	// +optional
	CloneMode CloneMode `json:"cloneMode,omitempty"`

	// snapshot is the name of the template's snapshot for a linked clone. Defaults to the template's current snapshot.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`

	// server is the host, or host:port, of the vCenter. Defaults to the server of the VSphereCluster.
	// +optional
	Server string `json:"server,omitempty"`

	// thumbprint is the SHA-1 or SHA-256 fingerprint of the vCenter's certificate, as hexadecimal pairs separated by colons.
	// +optional
	Thumbprint string `json:"thumbprint,omitempty"`

	// datacenter in which the machine is created. "*" stands for the only one.
	// +optional
	Datacenter string `json:"datacenter,omitempty"`

	// folder in which the machine is created. Defaults to the datacenter's root folder for virtual machines.
	// +optional
	Folder string `json:"folder,omitempty"`

	// datastore on which the machine's files are placed.
	// +optional
	Datastore string `json:"datastore,omitempty"`

	// storagePolicyName is the storage policy of the machine's disks.
	// +optional
	StoragePolicyName string `json:"storagePolicyName,omitempty"`

	// resourcePool in which the machine is created. Defaults to the root pool of the failure domain's compute cluster, or of
	// the only compute cluster.
	// +optional
	ResourcePool string `json:"resourcePool,omitempty"`

	// network defines the network of the machine.
	// +required
	Network NetworkSpec `json:"network"`

	// numCPUs is the number of virtual processors.
	// +optional
	NumCPUs int32 `json:"numCPUs,omitempty"`

	// numCoresPerSocket is the number of cores per socket.
	// +optional
	NumCoresPerSocket *int32 `json:"numCoresPerSocket,omitempty"`

	// resources are the reservations, limits and shares of CPU and memory.
	// +optional
	Resources infrav1.VirtualMachineResources `json:"resources,omitempty,omitzero"`

	// memoryMiB is the memory size in MiB.
	// +optional
	MemoryMiB int64 `json:"memoryMiB,omitempty"`

	// diskGiB is the size of the first disk in GiB. Defaults to the template's, which is the minimum. A linked clone keeps the
	// size of its snapshot.
	// +optional
	DiskGiB int32 `json:"diskGiB,omitempty"`

	// additionalDisksGiB are the sizes of the template's other disks in GiB, in the template's order.
	// +optional
	AdditionalDisksGiB []int32 `json:"additionalDisksGiB,omitempty"`

	// customVMXKeys are advanced settings to add to the machine.
	// +optional
	CustomVMXKeys map[string]string `json:"customVMXKeys,omitempty"`

	// tagIDs are vSphere tags to attach to the machine, as URNs.
	// +optional
	TagIDs []string `json:"tagIDs,omitempty"`

	// pciDevices are host devices to pass through.
	// +optional
	PciDevices []PCIDeviceSpec `json:"pciDevices,omitempty"`

	// os is the family of the guest operating system. Defaults to Linux.
	// +optional
	OS infrav1.OS `json:"os,omitempty"`

	// hardwareVersion to which the machine is upgraded, such as vmx-17.
	// +optional
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
	FtEncryptionMode infrav1.FtEncryptionMode `json:"ftEncryptionMode,omitempty"`

	// migrateEncryption is the encryption mode of vMotion traffic.
	// +optional
	MigrateEncryption infrav1.MigrateEncryption `json:"migrateEncryption,omitempty"`

	// cryptoKeyID is the encryption key of the machine's files.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	CryptoKeyID string `json:"cryptoKeyID,omitempty"`

	// cryptoProfile is the storage policy that encrypts the machine's files.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	CryptoProfile string `json:"cryptoProfile,omitempty"`
}

// VSphereDisk defines a disk to add to the machine.
type VSphereDisk struct {
	// name identifies the disk.
	// +required
	Name string `json:"name"`

	// sizeGiB is the size of the disk in GiB.
	// +required
	SizeGiB int32 `json:"sizeGiB"`

	// provisioningMode is the provisioning type of the disk. Defaults to that of the storage policy.
	// +optional
	ProvisioningMode infrav1.ProvisioningMode `json:"provisioningMode,omitempty"`
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
	VGPUProfile string `json:"vGPUProfile,omitempty"`

	// customLabel is the hardware label of the device.
	// +optional
	CustomLabel string `json:"customLabel,omitempty"`
}
