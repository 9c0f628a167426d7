// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// VSphereMachineSpec defines the desired state of VSphereMachine.
type VSphereMachineSpec struct {
	VirtualMachineCloneSpec `json:",inline"`

	// providerID is vsphere:// followed by the machine's BIOS UUID. It is set by the controller.
	// +optional
	ProviderID *string `json:"providerID,omitempty"`

	// failureDomain was a copy of the Machine's. It is ignored, and v1beta2 does not have it.
	// +optional
	FailureDomain *string `json:"failureDomain,omitempty"`

	// powerOffMode is the mode in which the machine is powered off before it is deleted.
	// +optional
	// +kubebuilder:default=hard
	PowerOffMode infrav1.VirtualMachinePowerOpMode `json:"powerOffMode,omitempty"`

	// guestSoftPowerOffTimeout is how long powerOffMode trySoft waits for the guest, in whole seconds. Defaults to five
	// minutes.
	// +optional
	GuestSoftPowerOffTimeout *metav1.Duration `json:"guestSoftPowerOffTimeout,omitempty"`

	// namingStrategy defines the name of the VSphereVM.
	// +optional
	NamingStrategy *VSphereVMNamingStrategy `json:"namingStrategy,omitempty"`
}

// VSphereVMNamingStrategy defines the name of a VSphereVM and of its virtual machine.
type VSphereVMNamingStrategy struct {
	// template of the name. It is a Go text template with the variable .machine.name, the name of the Machine, and the
	// functions trimSuffix and trunc. Defaults to {{ .machine.name }}. The result must be a valid object name; it is truncated
	// to 63 characters.
	// +optional
	Template *string `json:"template,omitempty"`
}

// VSphereMachineStatus defines the observed state of VSphereMachine.
type VSphereMachineStatus struct {
	// ready is true once the machine was provisioned.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// addresses of the machine.
	// +optional
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// network is the observed state of the machine's network cards.
	// +optional
	Network []NetworkStatus `json:"network,omitempty"`

	// failureReason is a one-word reason for a terminal problem.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage describes a terminal problem.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// conditions of the machine, in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // v1beta2 has them as deprecated

	// v1beta2 holds the status fields that v1beta2 has.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// VSphereMachine is the infrastructure of a Machine on vSphere.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vspheremachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.ready",description="Whether the machine was provisioned"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="ID of the machine"
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Machine\")].name",description="Machine that owns this",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereMachine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereMachine.
	// +optional
	Spec VSphereMachineSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of VSphereMachine.
	// +optional
	Status VSphereMachineStatus `json:"status,omitempty,omitzero"`
}

// VSphereMachineList is a list of VSphereMachines.
//
// +kubebuilder:object:root=true
type VSphereMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereMachine `json:"items"`
}
