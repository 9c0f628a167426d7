// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineImageSpec defines the source of an image.
type VirtualMachineImageSpec struct {
	// displayName is the name that users see. Several images can have the
	// same display name.
	// +required
	DisplayName string `json:"displayName"`

	// backend fills the volumes of the image: backingimage, which is
	// Longhorn's and the default, or cdi.
	// +optional
	Backend string `json:"backend,omitempty"`
}

// BackendCDI is the backend whose PersistentVolumeClaims do not inherit
// labels and annotations from the claim template.
const BackendCDI = "cdi"

// VirtualMachineImageStatus is the observed state of an image.
type VirtualMachineImageStatus struct {
	// storageClassName is the storage class for volumes created from the
	// image.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`

	// progress of the download, in percent.
	// +optional
	Progress int `json:"progress,omitempty"`

	// size of the image in bytes.
	// +optional
	Size int64 `json:"size,omitempty"`

	// virtualSize is the size in bytes of a volume created from the image.
	// +optional
	VirtualSize int64 `json:"virtualSize,omitempty"`

	// conditions of the image.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
}

const (
	// ImageImported is True once an image has been downloaded, and False when
	// its download failed.
	ImageImported = "Imported"
)

// Condition is a condition as Harvester writes it.
type Condition struct {
	// type of the condition.
	// +required
	Type string `json:"type"`

	// status of the condition: True, False or Unknown.
	// +required
	Status corev1.ConditionStatus `json:"status"`

	// lastUpdateTime is when the condition was last written.
	// +optional
	LastUpdateTime string `json:"lastUpdateTime,omitempty"`

	// lastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`

	// reason of the condition in one word.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message is a human-readable description.
	// +optional
	Message string `json:"message,omitempty"`
}

// VirtualMachineImage is an image that volumes of virtual machines are
// created from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=virtualmachineimages,scope=Namespaced,shortName=vmimage;vmimages
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:printcolumn:name="Display-Name",type="string",JSONPath=".spec.displayName",description="What users call the image"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VirtualMachineImage struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the source of the image.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec VirtualMachineImageSpec `json:"spec"`

	// status is the observed state of the image.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status VirtualMachineImageStatus `json:"status,omitempty,omitzero"`
}

// VirtualMachineImageList is a list of VirtualMachineImages.
//
// +kubebuilder:object:root=true
type VirtualMachineImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VirtualMachineImage `json:"items"`
}
