// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// HarvesterMachineSpec is the virtual machine that a Machine wants.
type HarvesterMachineSpec struct {
	// providerID is harvester:// and the UID of the virtual machine. It is set
	// by the controller.
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// failureDomain that the virtual machine is to be in when its Machine names
	// none.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`

	// cpu is the number of cores.
	// +required
	CPU uint32 `json:"cpu"`

	// memory is how much memory the virtual machine has, such as 4Gi.
	// +required
	Memory string `json:"memory"`

	// sshUser is the user of the image that the key of sshKeyPair is given to.
	// +optional
	SSHUser string `json:"sshUser,omitempty"`

	// sshKeyPair is a KeyPair on Harvester whose public key may log in, as
	// namespace/name, or name in the target namespace.
	// +optional
	SSHKeyPair string `json:"sshKeyPair,omitempty"`

	// volumes of the virtual machine, at least one. It boots from the first,
	// unless they have an order. Only in a template they may be left for patches
	// of a ClusterClass to fill in.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Volumes []Volume `json:"volumes,omitempty"`

	// networks that the virtual machine is attached to, as namespace/name, or
	// name in the target namespace. Those of its failure domain go before them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Networks []string `json:"networks,omitempty"`

	// nodeAffinity is which hosts of Harvester the virtual machine may be on, or
	// should. Its failure domain is required in addition to it.
	// +optional
	NodeAffinity *corev1.NodeAffinity `json:"nodeAffinity,omitempty"`

	// workloadAffinity is which other workloads on Harvester the virtual machine
	// must be near, or should.
	// +optional
	WorkloadAffinity *corev1.PodAffinity `json:"workloadAffinity,omitempty"`

	// networkConfig gives the virtual machine one fixed address. It goes before
	// addresses from pools of the cluster.
	// +optional
	NetworkConfig *NetworkConfig `json:"networkConfig,omitempty"`

	// vmNetworkConfig gives the virtual machine an address from pools, in the
	// place of those of its failure domain and of the cluster. It cannot be set
	// together with networkConfig, and cannot have ipPool.
	// +optional
	VMNetworkConfig *VMNetworkConfig `json:"vmNetworkConfig,omitempty"`

	// firmware that the virtual machine boots with. Without it that is BIOS.
	// +optional
	Firmware *Firmware `json:"firmware,omitempty"`

	// tpm is the Trusted Platform Module of the virtual machine.
	// +optional
	TPM *TPM `json:"tpm,omitempty"`
}

// Firmware is what a virtual machine boots with.
type Firmware struct {
	// efi boots with UEFI in the place of BIOS.
	// +optional
	EFI bool `json:"efi,omitempty"`

	// secureBoot lets only signed code boot. It needs efi.
	// +optional
	SecureBoot bool `json:"secureBoot,omitempty"`
}

// TPM is an emulated Trusted Platform Module.
type TPM struct {
	// enabled gives the virtual machine one.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// persistent keeps its state when the virtual machine restarts. It needs
	// enabled.
	// +optional
	Persistent bool `json:"persistent,omitempty"`
}

// VolumeType is what a volume is made from.
// +kubebuilder:validation:Enum=storageClass;image
type VolumeType string

const (
	// VolumeTypeStorageClass is an empty volume of a storage class.
	VolumeTypeStorageClass VolumeType = "storageClass"

	// VolumeTypeImage is a volume that is filled from an image.
	VolumeTypeImage VolumeType = "image"
)

// Volume is a disk of a virtual machine.
type Volume struct {
	// volumeType is what the volume is made from: image or storageClass.
	// +required
	VolumeType VolumeType `json:"volumeType"`

	// imageName is a VirtualMachineImage on Harvester by its name or display
	// name, as namespace/name, or name in the target namespace. It is required
	// with volumeType image.
	// +optional
	ImageName string `json:"imageName,omitempty"`

	// storageClass of the volume. It is required with volumeType storageClass;
	// an image brings its own.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`

	// volumeSize is how large the volume is, such as 40Gi. Without it a volume
	// has the size of its image.
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`

	// bootOrder is when booting from the volume is tried: 1 is first. Without it
	// volumes are tried in the order in which they are listed.
	// +optional
	BootOrder int `json:"bootOrder,omitempty"`
}

// HarvesterMachineStatus is what is known of the machine.
type HarvesterMachineStatus struct {
	// ready is true once the virtual machine runs and has its provider ID. It is
	// the same as initialization.provisioned, for those who read it from older
	// versions.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// conditions of the machine: Ready, MachineCreated, VMIPAllocated,
	// VMProvisioningReady, VMRunning, InfrastructureReady and Paused.
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

	// initialization is how far the first provisioning is.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`

	// allocatedIPAddress is the address that the machine has from a pool.
	// +optional
	AllocatedIPAddress string `json:"allocatedIPAddress,omitempty"`

	// allocatedPoolRef is the name of the pool.
	// +optional
	AllocatedPoolRef string `json:"allocatedPoolRef,omitempty"`

	// failureDomain is where the machine is, as found on the host that it runs
	// on. It follows the machine when that is migrated.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`

	// deprecated holds status of older API versions.
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

	// spec is the virtual machine that is wanted.
	// +optional
	Spec HarvesterMachineSpec `json:"spec,omitempty,omitzero"`

	// status is what is known of the machine.
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
// being deleted: it runs on whether its Harvester can be seen or not.
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
