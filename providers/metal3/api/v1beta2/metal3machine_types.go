// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// FailureDomainPolicy defines whether a host must be in the failure domain of the machine.
// +kubebuilder:validation:Enum=Required;Preferred
type FailureDomainPolicy string

const (
	// FailureDomainPreferred allows a host of another failure domain when no host of the machine's own is free.
	FailureDomainPreferred FailureDomainPolicy = "Preferred"
)

// HostSelectionOrder is the order in which equally suitable hosts are tried.
// +kubebuilder:validation:Enum=Name;Random
type HostSelectionOrder string

const (
	// HostSelectionRandom tries hosts in random order.
	HostSelectionRandom HostSelectionOrder = "Random"
)

// CleaningMode defines how the disks of a host are cleaned between machines.
// +kubebuilder:validation:Enum=metadata;disabled
type CleaningMode string

const (
	// CleaningModeDisabled leaves the disks unchanged.
	CleaningModeDisabled CleaningMode = "disabled"
)

// Metal3MachineSpec defines the desired state of a Metal3Machine. Either image or customDeploy is required.
type Metal3MachineSpec struct {
	// providerID is metal3://namespace/host/name. The controller sets it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// image that the host boots.
	// +optional
	Image Image `json:"image,omitempty,omitzero"`

	// customDeploy names a deploy procedure implemented by a custom ramdisk.
	// +optional
	CustomDeploy CustomDeploy `json:"customDeploy,omitempty,omitzero"`

	// userData names a Secret with user data for the host. It is used if the Machine has no bootstrap data of its own.
	// +optional
	UserData *corev1.SecretReference `json:"userData,omitempty"`

	// hostSelector selects BareMetalHosts by their labels. If empty, every host matches.
	// +optional
	HostSelector HostSelector `json:"hostSelector,omitempty,omitzero"`

	// hostSelectionOrder is the order in which equally suitable hosts are tried: Name or Random. Defaults to Name.
	// +optional
	HostSelectionOrder HostSelectionOrder `json:"hostSelectionOrder,omitempty"`

	// dataTemplate names the Metal3DataTemplate that metaData and networkData
	// of the host are rendered from.
	// +optional
	// +structType=atomic
	DataTemplate *Metal3ObjectRef `json:"dataTemplate,omitempty"`

	// metaData names a Secret with metadata for the host.
	// +optional
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names a Secret with network data for the host.
	// +optional
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// automatedCleaningMode is the cleaning of the host's disks before another machine gets the host: metadata wipes partition
	// tables, disabled leaves the disks unchanged. If unset, the mode of the host is kept.
	// +optional
	AutomatedCleaningMode CleaningMode `json:"automatedCleaningMode,omitempty"`

	// failureDomain in which the machine must get a host. The controller copies it from the Machine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// failureDomainPolicy defines what happens while no host in the failure domain is free: with Required the machine waits, with
	// Preferred it gets a host of another failure domain. Defaults to Required.
	// +optional
	FailureDomainPolicy FailureDomainPolicy `json:"failureDomainPolicy,omitempty"`
}

// Metal3MachineStatus defines the observed state of a Metal3Machine.
type Metal3MachineStatus struct {
	// conditions of the machine: Ready, AssociateBareMetalHost,
	// AssociateMetal3MachineMetaData, Metal3DataReady,
	// BareMetalHostProvisioned and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization reports the progress of the first provisioning.
	// +optional
	Initialization Metal3MachineInitializationStatus `json:"initialization,omitempty,omitzero"`

	// failureDomain that the machine is in, read from its host.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// addresses of the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// userData names the Secret with the host's user data.
	// +optional
	UserData *corev1.SecretReference `json:"userData,omitempty"`

	// renderedData names the Metal3Data of the machine.
	// +optional
	// +structType=atomic
	RenderedData *Metal3ObjectRef `json:"renderedData,omitempty"`

	// metaData names the Secret with the host's metadata.
	// +optional
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names the Secret with the host's network data.
	// +optional
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// lastUpdated is the time at which another version of the provider last wrote the status. It is preserved unchanged.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// deprecated holds the status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// Metal3MachineInitializationStatus reports the progress of the first provisioning.
// +kubebuilder:validation:MinProperties=1
type Metal3MachineInitializationStatus struct {
	// provisioned is true once the host is running and its Node has been found. It is part of the Cluster API contract and stays
	// true.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// Metal3Machine is the bare-metal infrastructure of a Machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3machines,scope=Namespaced,categories=cluster-api,shortName=m3m;m3machine;m3machines;metal3m;metal3machine
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Provider ID"
// +kubebuilder:printcolumn:name="Provisioned",type="string",JSONPath=".status.initialization.provisioned",description="Whether the machine is provisioned"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster"
// +kubebuilder:printcolumn:name="Failure Domain",type="string",JSONPath=".status.failureDomain",description="Failure domain of the machine"
type Metal3Machine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the Metal3Machine.
	// +optional
	Spec Metal3MachineSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the Metal3Machine.
	// +optional
	Status Metal3MachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the machine.
func (m *Metal3Machine) GetConditions() []metav1.Condition {
	return m.Status.Conditions
}

// SetConditions replaces the conditions of the machine.
func (m *Metal3Machine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// Metal3MachineList is a list of Metal3Machines.
//
// +kubebuilder:object:root=true
type Metal3MachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3Machine `json:"items"`
}
