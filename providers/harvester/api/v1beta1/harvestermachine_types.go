// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// HarvesterMachineSpec defines the virtual machine of a Machine.
type HarvesterMachineSpec struct {
	// providerID is harvester:// followed by the UID of the virtual machine.
	// The controller sets it.
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// failureDomain of the virtual machine, used when its Machine names none.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`

	// cpu is the number of cores.
	// +required
	CPU uint32 `json:"cpu"`

	// memory is the memory of the virtual machine, such as 4Gi.
	// +required
	Memory string `json:"memory"`

	// sshUser is the user of the image that receives the key of sshKeyPair.
	// +optional
	SSHUser string `json:"sshUser,omitempty"`

	// sshKeyPair is a KeyPair on Harvester whose public key is authorized to
	// log in, as namespace/name, or name in the target namespace.
	// +optional
	SSHKeyPair string `json:"sshKeyPair,omitempty"`

	// volumes of the virtual machine, at least one. It boots from the first
	// one unless the volumes have a bootOrder. Only a template may leave them
	// out, for patches of a ClusterClass to fill in.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Volumes []Volume `json:"volumes,omitempty"`

	// networks that the virtual machine is attached to, as namespace/name, or
	// name in the target namespace. The networks of its failure domain
	// replace them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Networks []string `json:"networks,omitempty"`

	// nodeAffinity defines the hosts of Harvester that the virtual machine
	// must or should run on. Its failure domain is required in addition.
	// +optional
	NodeAffinity *corev1.NodeAffinity `json:"nodeAffinity,omitempty"`

	// workloadAffinity defines the workloads on Harvester that the virtual
	// machine must or should run close to.
	// +optional
	WorkloadAffinity *corev1.PodAffinity `json:"workloadAffinity,omitempty"`

	// networkConfig assigns a single fixed address to the virtual machine. It
	// takes precedence over addresses from pools of the cluster.
	// +optional
	NetworkConfig *NetworkConfig `json:"networkConfig,omitempty"`

	// vmNetworkConfig assigns addresses from IPPools to the virtual machine.
	// It replaces that of its failure domain and of the cluster. It cannot be
	// set together with networkConfig and cannot have ipPool.
	// +optional
	VMNetworkConfig *VMNetworkConfig `json:"vmNetworkConfig,omitempty"`

	// firmware that the virtual machine boots with. Defaults to BIOS.
	// +optional
	Firmware *Firmware `json:"firmware,omitempty"`

	// tpm is the Trusted Platform Module of the virtual machine.
	// +optional
	TPM *TPM `json:"tpm,omitempty"`
}

// Firmware defines the firmware that a virtual machine boots with.
type Firmware struct {
	// efi makes the virtual machine boot with UEFI instead of BIOS.
	// +optional
	EFI bool `json:"efi,omitempty"`

	// secureBoot allows only signed code to boot. It requires efi.
	// +optional
	SecureBoot bool `json:"secureBoot,omitempty"`
}

// TPM is an emulated Trusted Platform Module.
type TPM struct {
	// enabled adds a TPM to the virtual machine.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// persistent keeps the state of the TPM when the virtual machine
	// restarts. It requires enabled.
	// +optional
	Persistent bool `json:"persistent,omitempty"`
}

// VolumeType is the source of a volume.
// +kubebuilder:validation:Enum=storageClass;image
type VolumeType string

const (
	// VolumeTypeStorageClass is an empty volume of a storage class.
	VolumeTypeStorageClass VolumeType = "storageClass"

	// VolumeTypeImage is a volume that is created from an image.
	VolumeTypeImage VolumeType = "image"
)

// Volume is a disk of a virtual machine.
type Volume struct {
	// volumeType is the source of the volume: image or storageClass.
	// +required
	VolumeType VolumeType `json:"volumeType"`

	// imageName is the name or display name of a VirtualMachineImage on
	// Harvester, as namespace/name, or name in the target namespace. It is
	// required with volumeType image.
	// +optional
	ImageName string `json:"imageName,omitempty"`

	// storageClass of the volume. It is required with volumeType
	// storageClass; an image has its own storage class.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`

	// volumeSize is the size of the volume, such as 40Gi. Defaults to the
	// size of the image.
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`

	// accessMode of the volume. Set ReadWriteOnce for a storage class that does
	// not support ReadWriteMany, such as one of LVM: the virtual machine can
	// then not be live migrated. Defaults to ReadWriteMany.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteMany;ReadWriteOnce
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`

	// bootOrder is the position of the volume in the boot order, from 1.
	// Without it, volumes are tried in the order in which they are listed.
	// +optional
	BootOrder int `json:"bootOrder,omitempty"`
}

// HarvesterMachineStatus is the observed state of a HarvesterMachine.
type HarvesterMachineStatus struct {
	// ready is true once the virtual machine runs and has its provider ID. It
	// equals initialization.provisioned and exists for clients of older
	// versions.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// conditions of the machine: Ready, MachineCreated, VMIPAllocated,
	// VMProvisioningReady, VMRunning, InfrastructureReady,
	// FailureDomainUnlisted and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// addresses of the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// initialization reports the progress of the initial provisioning.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`

	// allocatedIPAddress is the address that was allocated to the machine
	// from an IPPool.
	// +optional
	AllocatedIPAddress string `json:"allocatedIPAddress,omitempty"`

	// allocatedPoolRef is the name of the IPPool.
	// +optional
	AllocatedPoolRef string `json:"allocatedPoolRef,omitempty"`

	// failureDomain is the failure domain of the host that runs the virtual
	// machine. It changes when the virtual machine is migrated.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`

	// deprecated holds the status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// HarvesterMachine is the infrastructure of a Machine on Harvester.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=harvestermachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster"
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Machine\")].name",description="Machine that it is the infrastructure of"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.ready",description="Whether the virtual machine runs and has its provider ID"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Provider ID"
// +kubebuilder:printcolumn:name="Failure Domain",type="string",JSONPath=".status.failureDomain",description="Where the machine is"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type HarvesterMachine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the virtual machine.
	// +optional
	Spec HarvesterMachineSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the machine.
	// +optional
	Status HarvesterMachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the machine.
func (m *HarvesterMachine) GetConditions() []metav1.Condition {
	return m.Status.Conditions
}

// SetConditions replaces the conditions of the machine.
func (m *HarvesterMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// InService reports whether the virtual machine was provisioned and is not
// being deleted. It keeps running even while its Harvester is unreachable.
func (m *HarvesterMachine) InService() bool {
	provisioned := m.Status.Initialization.Provisioned
	return provisioned != nil && *provisioned && m.DeletionTimestamp.IsZero()
}

// HarvesterMachineList is a list of HarvesterMachines.
//
// +kubebuilder:object:root=true
type HarvesterMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HarvesterMachine `json:"items"`
}
