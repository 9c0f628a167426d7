// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineFinalizer protects a VSphereMachine until its VSphereVM is deleted.
const MachineFinalizer = "vspheremachine.infrastructure.cluster.x-k8s.io"

// VSphereMachineSpec defines the desired state of VSphereMachine. If the Machine has a failure domain, that determines the
// placement.
type VSphereMachineSpec struct {
	VirtualMachineCloneSpec `json:",inline"`

	// providerID is vsphere:// followed by the machine's BIOS UUID. It is set by the controller.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// powerOffMode is the mode in which the machine is powered off before it is deleted. Defaults to hard.
	// +optional
	PowerOffMode VirtualMachinePowerOpMode `json:"powerOffMode,omitempty"`

	// guestSoftPowerOffTimeoutSeconds is how long powerOffMode trySoft waits for the guest, in seconds. Defaults to 300.
	// +optional
	// +kubebuilder:validation:Minimum=1
	GuestSoftPowerOffTimeoutSeconds int32 `json:"guestSoftPowerOffTimeoutSeconds,omitempty"`

	// naming defines the name of the VSphereVM.
	// +optional
	Naming VSphereVMNamingSpec `json:"naming,omitempty,omitzero"`
}

// VSphereVMNamingSpec defines the name of a VSphereVM and of its virtual machine.
// +kubebuilder:validation:MinProperties=1
type VSphereVMNamingSpec struct {
	// template of the name. It is a Go text template with the variable .machine.name, the name of the Machine, and the
	// functions trimSuffix and trunc. Defaults to {{ .machine.name }}. The result must be a valid object name; it is truncated
	// to 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`
}

// VSphereMachineStatus defines the observed state of VSphereMachine.
// +kubebuilder:validation:MinProperties=1
type VSphereMachineStatus struct {
	// conditions of the machine: Ready, PlacementReady,
	// VirtualMachineProvisioned and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization holds the state of the initial provisioning.
	// +optional
	Initialization VSphereMachineInitializationStatus `json:"initialization,omitempty,omitzero"`

	// failureDomain is the failure domain that the machine is in according to the inventory.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain *string `json:"failureDomain,omitempty"`

	// addresses of the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// network is the observed state of the machine's network cards.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Network []NetworkStatus `json:"network,omitempty"`

	// deprecated holds the status of older API versions.
	// +optional
	Deprecated *MachineDeprecatedStatus `json:"deprecated,omitempty"`
}

// VSphereMachineInitializationStatus holds the state of the initial provisioning.
// +kubebuilder:validation:MinProperties=1
type VSphereMachineInitializationStatus struct {
	// provisioned is true once the machine is running and has its addresses. It is part of the Cluster API contract and stays
	// true.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// VSphereMachine is the infrastructure of a Machine on vSphere.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vspheremachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Provider ID",type="string",JSONPath=".spec.providerID",description="Provider ID",priority=10
// +kubebuilder:printcolumn:name="Template",type="string",JSONPath=".spec.template",description="Template that the machine is cloned from",priority=10
// +kubebuilder:printcolumn:name="Failure Domain",type="string",JSONPath=".status.failureDomain",description="Failure domain of the machine"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Reconciliation paused",priority=10
// +kubebuilder:printcolumn:name="Provisioned",type="string",JSONPath=".status.initialization.provisioned",description="Machine infrastructure is provisioned"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereMachine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereMachine.
	// +required
	Spec VSphereMachineSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of VSphereMachine.
	// +optional
	Status VSphereMachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the machine.
func (m *VSphereMachine) GetConditions() []metav1.Condition {
	return m.Status.Conditions
}

// SetConditions replaces the conditions of the machine.
func (m *VSphereMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// Machine returns the key of the Machine that owns the VSphereMachine, or the VSphereMachine's own key while it has no owner.
func (m *VSphereMachine) Machine() types.NamespacedName {
	key := types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	for _, ref := range m.OwnerReferences {
		if ref.Kind == "Machine" {
			key.Name = ref.Name
		}
	}
	return key
}

// Provisioned reports whether the machine has ever had a running virtual machine.
func (m *VSphereMachine) Provisioned() bool {
	return m.Spec.ProviderID != "" || m.Status.Initialization.Provisioned != nil && *m.Status.Initialization.Provisioned
}

// VSphereMachineList is a list of VSphereMachines.
//
// +kubebuilder:object:root=true
type VSphereMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereMachine `json:"items"`
}
