// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// VSphereVMSpec defines the desired state of VSphereVM.
type VSphereVMSpec struct {
	VirtualMachineCloneSpec `json:",inline"`

	// bootstrapRef references the Secret with the bootstrap data, in the same namespace.
	// +optional
	BootstrapRef *corev1.ObjectReference `json:"bootstrapRef,omitempty"`

	// biosUUID identifies the machine in vCenter. It is set by the controller.
	// +optional
	BiosUUID string `json:"biosUUID,omitempty"`

	// powerOffMode is the mode in which the machine is powered off before it is deleted.
	// +optional
	// +kubebuilder:default=hard
	PowerOffMode infrav1.VirtualMachinePowerOpMode `json:"powerOffMode,omitempty"`

	// guestSoftPowerOffTimeout is how long powerOffMode trySoft waits for the guest, in whole seconds. Defaults to five
	// minutes.
	// +optional
	GuestSoftPowerOffTimeout *metav1.Duration `json:"guestSoftPowerOffTimeout,omitempty"`
}

// VSphereVMStatus defines the observed state of VSphereVM.
type VSphereVMStatus struct {
	// host is the name of the host that the machine runs on.
	// +optional
	Host string `json:"host,omitempty"`

	// ready is true if the machine is running and has its addresses.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// addresses of the machine.
	// +optional
	Addresses []string `json:"addresses,omitempty"`

	// cloneMode is the mode in which the machine was cloned.
	// +optional
	CloneMode CloneMode `json:"cloneMode,omitempty"`

	// snapshot is the snapshot that a linked clone depends on.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`

	// retryAfter is when a failed task is retried.
	// +optional
	RetryAfter metav1.Time `json:"retryAfter,omitempty,omitzero"`

	// taskRef is the running task in vCenter.
	// +optional
	TaskRef string `json:"taskRef,omitempty"`

	// network is the observed state of the machine's network cards.
	// +optional
	Network []NetworkStatus `json:"network,omitempty"`

	// failureReason is a one-word reason for a terminal problem.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage describes a terminal problem.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// conditions of the virtual machine, in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // v1beta2 has them as deprecated

	// moduleUUID is the vCenter cluster module that the machine is in.
	// +optional
	ModuleUUID *string `json:"moduleUUID,omitempty"`

	// vmRef is the managed object reference of the machine.
	// +optional
	VMRef string `json:"vmRef,omitempty"`

	// v1beta2 holds the status fields that v1beta2 has.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// VSphereVM is a virtual machine in a vCenter.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vspherevms,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
type VSphereVM struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereVM.
	// +optional
	Spec VSphereVMSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of VSphereVM.
	// +optional
	Status VSphereVMStatus `json:"status,omitempty,omitzero"`
}

// VSphereVMList is a list of VSphereVMs.
//
// +kubebuilder:object:root=true
type VSphereVMList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereVM `json:"items"`
}
