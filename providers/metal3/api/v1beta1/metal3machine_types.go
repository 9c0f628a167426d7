// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Metal3MachineSpec defines the desired state of a Metal3Machine.
type Metal3MachineSpec struct {
	// providerID is metal3://namespace/host/name. The controller sets it.
	// +optional
	ProviderID *string `json:"providerID,omitempty"`

	// image that the host boots.
	// +optional
	Image Image `json:"image,omitempty,omitzero"`

	// customDeploy names a deploy procedure implemented by a custom ramdisk.
	// +optional
	CustomDeploy *CustomDeploy `json:"customDeploy,omitempty"`

	// userData names a Secret with user data for the host. It is used if the Machine has no bootstrap data of its own.
	// +optional
	UserData *corev1.SecretReference `json:"userData,omitempty"`

	// hostSelector selects BareMetalHosts by their labels. If empty, every host matches.
	// +optional
	HostSelector HostSelector `json:"hostSelector,omitempty,omitzero"`

	// dataTemplate names the Metal3DataTemplate that metaData and networkData
	// of the host are rendered from.
	// +optional
	DataTemplate *corev1.ObjectReference `json:"dataTemplate,omitempty"`

	// metaData names a Secret with metadata for the host.
	// +optional
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names a Secret with network data for the host.
	// +optional
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// automatedCleaningMode is the cleaning of the host's disks before another machine gets the host: metadata wipes partition
	// tables, disabled leaves the disks unchanged.
	// +optional
	// +kubebuilder:validation:Enum=metadata;disabled
	AutomatedCleaningMode *string `json:"automatedCleaningMode,omitempty"`

	// failureDomain in which the machine must get a host. The controller copies it from the Machine.
	// +optional
	FailureDomain *string `json:"failureDomain,omitempty"`
}

// Metal3MachineStatus defines the observed state of a Metal3Machine.
type Metal3MachineStatus struct {
	// lastUpdated is the time at which another version of the provider last wrote the status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// failureReason is a single-word reason of a terminal problem.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage describes a terminal problem.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// addresses of the machine.
	// +optional
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// phase of the machine. No controller writes it.
	// +optional
	Phase string `json:"phase,omitempty"`

	// ready is true once the host is running and its Node has been found.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// userData names the Secret with the host's user data.
	// +optional
	UserData *corev1.SecretReference `json:"userData,omitempty"`

	// renderedData names the Metal3Data of the machine.
	// +optional
	RenderedData *corev1.ObjectReference `json:"renderedData,omitempty"`

	// metaData names the Secret with the host's metadata.
	// +optional
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names the Secret with the host's network data.
	// +optional
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// conditions in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // it is what v1beta1 shows

	// v1beta2 holds the status in the format of v1beta2.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// Metal3Machine is the bare-metal infrastructure of a Machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3machines,scope=Namespaced,categories=cluster-api,shortName=m3m;m3machine;m3machines;metal3m;metal3machine
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Provider ID"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.ready",description="Whether the machine is provisioned"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Phase of the machine"
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

// Metal3MachineList is a list of Metal3Machines.
//
// +kubebuilder:object:root=true
type Metal3MachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3Machine `json:"items"`
}
