// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Metal3ObjectRef refers to an object of this provider.
type Metal3ObjectRef struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// namespace of the object. It must be the namespace of the object that holds the reference; any other value is rejected.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// IPPoolReference names an address pool in the namespace of the machine.
type IPPoolReference struct {
	// name of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// kind of the pool.
	// +optional
	// +kubebuilder:default=IPPool
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// apiGroup of the pool. Addresses are claimed with Cluster API's IPAddressClaim if the group is not ipam.metal3.io.
	// +optional
	// +kubebuilder:default=ipam.metal3.io
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup,omitempty"`
}

// FromPoolAnnotation refers to an annotation that names the address pool. With it, machines of one template can use addresses of
// different networks.
type FromPoolAnnotation struct {
	// object that carries the annotation.
	// +required
	Object DataObject `json:"object,omitempty"`

	// annotation is the key of the annotation; its value is the name of a
	// metal3 IPPool.
	// +required
	// +kubebuilder:validation:MinLength=1
	Annotation string `json:"annotation,omitempty"`
}

// DataObject is one of the objects that belong to a machine.
// +kubebuilder:validation:Enum=machine;metal3machine;baremetalhost
type DataObject string

const (
	// DataObjectMachine is the Machine.
	DataObjectMachine DataObject = "machine"

	// DataObjectMetal3Machine is the Metal3Machine.
	DataObjectMetal3Machine DataObject = "metal3machine"

	// DataObjectBareMetalHost is the BareMetalHost.
	DataObjectBareMetalHost DataObject = "baremetalhost"
)
