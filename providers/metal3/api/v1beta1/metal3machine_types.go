// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Metal3MachineSpec is the host that a Machine wants and what goes on it.
type Metal3MachineSpec struct {
	// providerID is metal3://namespace/host/name. It is set by the controller.
	// +optional
	ProviderID *string `json:"providerID,omitempty"`

	// image that the host boots.
	// +optional
	Image Image `json:"image,omitempty,omitzero"`

	// customDeploy is a deploy procedure of a ramdisk that has one.
	// +optional
	CustomDeploy *CustomDeploy `json:"customDeploy,omitempty"`

	// userData names a Secret with user data for the host. It is used when the
	// Machine has no bootstrap data of its own.
	// +optional
	UserData *corev1.SecretReference `json:"userData,omitempty"`

	// hostSelector selects BareMetalHosts by their labels. Without it every
	// host will do.
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

	// automatedCleaningMode is what happens to the disks of the host before
	// another machine gets it: metadata wipes partition tables, disabled leaves
	// them as they are.
	// +optional
	// +kubebuilder:validation:Enum=metadata;disabled
	AutomatedCleaningMode *string `json:"automatedCleaningMode,omitempty"`

	// failureDomain that the host is to be in. It is that of the Machine and
	// set by the controller.
	// +optional
	FailureDomain *string `json:"failureDomain,omitempty"`
}

// Metal3MachineStatus is what is known of the machine.
type Metal3MachineStatus struct {
	// lastUpdated is when another version of the provider last wrote the
	// status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// failureReason names a terminal problem in one word.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage describes a terminal problem.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// addresses of the machine.
	// +optional
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// phase is how far the machine is. No controller writes it.
	// +optional
	Phase string `json:"phase,omitempty"`

	// ready is true once the host runs and its Node is known.
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

	// v1beta2 holds status as v1beta2 shows it.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// Metal3Machine is the infrastructure of a Machine on bare metal.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3machines,scope=Namespaced,categories=cluster-api,shortName=m3m;m3machine;m3machines;metal3m;metal3machine
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Provider ID"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.ready",description="Whether the machine was provisioned"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="How far the machine is"
type Metal3Machine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the host that is wanted and what goes on it.
	// +optional
	Spec Metal3MachineSpec `json:"spec,omitempty,omitzero"`

	// status is what is known of the machine.
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
