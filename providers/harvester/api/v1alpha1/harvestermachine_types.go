// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
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
	Volumes []infrav1.Volume `json:"volumes,omitempty"`

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
	NetworkConfig *infrav1.NetworkConfig `json:"networkConfig,omitempty"`

	// vmNetworkConfig assigns addresses from IPPools to the virtual machine.
	// It replaces that of its failure domain and of the cluster. It cannot be
	// set together with networkConfig and cannot have ipPool.
	// +optional
	VMNetworkConfig *infrav1.VMNetworkConfig `json:"vmNetworkConfig,omitempty"`

	// firmware that the virtual machine boots with. Defaults to BIOS.
	// +optional
	Firmware *infrav1.Firmware `json:"firmware,omitempty"`

	// tpm is the Trusted Platform Module of the virtual machine.
	// +optional
	TPM *infrav1.TPM `json:"tpm,omitempty"`
}

// HarvesterMachineStatus is the observed state of a HarvesterMachine.
type HarvesterMachineStatus struct {
	// ready is true once the virtual machine runs and has its provider ID. It
	// equals initialization.provisioned and exists for clients of older
	// versions.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// conditions of the machine.
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
	Initialization infrav1.Initialization `json:"initialization,omitempty,omitzero"`

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

	// failureReason is the reason of a terminal problem in one word. No
	// controller writes it.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`

	// failureMessage describes a terminal problem. No controller writes it.
	// +optional
	FailureMessage string `json:"failureMessage,omitempty"`
}

// HarvesterMachine is the infrastructure of a Machine on Harvester.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=harvestermachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1alpha1 HarvesterMachine is deprecated: use infrastructure.cluster.x-k8s.io/v1beta1"
// +kubebuilder:subresource:status
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

// HarvesterMachineList is a list of HarvesterMachines.
//
// +kubebuilder:object:root=true
type HarvesterMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HarvesterMachine `json:"items"`
}
