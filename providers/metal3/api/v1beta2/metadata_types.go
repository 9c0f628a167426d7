// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// MetaData is rendered to a map of strings. Each list item renders one entry under its key. If lists share a key, the precedence
// is strings, annotations, labels, objectNames, namespaces, indexes, dnsServersFromPool, gatewaysFromPool, prefixesFromPool,
// ipAddressesFromPool and fromHostInterfaces, highest first. The controller always sets the entry providerid.
type MetaData struct {
	// strings are entries with a fixed value.
	// +optional
	// +listType=map
	// +listMapKey=key
	Strings []MetaDataString `json:"strings,omitempty"`

	// objectNames are names of the objects that belong to the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	ObjectNames []MetaDataObjectName `json:"objectNames,omitempty"`

	// indexes are entries computed from the index of the Metal3Data.
	// +optional
	// +listType=map
	// +listMapKey=key
	Indexes []MetaDataIndex `json:"indexes,omitempty"`

	// namespaces are entries with the namespace of the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	Namespaces []MetaDataNamespace `json:"namespaces,omitempty"`

	// ipAddressesFromPool are addresses claimed from pools.
	// +optional
	// +listType=map
	// +listMapKey=key
	IPAddressesFromPool []FromPool `json:"ipAddressesFromPool,omitempty"`

	// prefixesFromPool are prefix lengths of pools.
	// +optional
	// +listType=map
	// +listMapKey=key
	PrefixesFromPool []FromPool `json:"prefixesFromPool,omitempty"`

	// gatewaysFromPool are gateways of pools.
	// +optional
	// +listType=map
	// +listMapKey=key
	GatewaysFromPool []FromPool `json:"gatewaysFromPool,omitempty"`

	// dnsServersFromPool are DNS servers of pools, separated by commas.
	// +optional
	// +listType=map
	// +listMapKey=key
	DNSServersFromPool []FromPool `json:"dnsServersFromPool,omitempty"`

	// fromHostInterfaces are MAC addresses of the host.
	// +optional
	// +listType=map
	// +listMapKey=key
	FromHostInterfaces []MetaDataHostInterface `json:"fromHostInterfaces,omitempty"`

	// fromLabels are labels of the objects that belong to the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	FromLabels []MetaDataFromLabel `json:"fromLabels,omitempty"`

	// fromAnnotations are annotations of the objects that belong to the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	FromAnnotations []MetaDataFromAnnotation `json:"fromAnnotations,omitempty"`
}

// MetaDataString is an entry with a fixed value.
type MetaDataString struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// value of the entry.
	// +required
	Value string `json:"value"`
}

// MetaDataObjectName renders the name of an object that belongs to the machine.
type MetaDataObjectName struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// object whose name is rendered.
	// +required
	Object DataObject `json:"object"`
}

// MetaDataIndex renders the concatenation of prefix, index*step+offset and suffix.
type MetaDataIndex struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// offset is added after the index is multiplied by step.
	// +optional
	Offset int32 `json:"offset,omitempty"`

	// step is the factor that the index is multiplied by.
	// +optional
	// +kubebuilder:default=1
	Step *int32 `json:"step,omitempty"`

	// prefix is prepended to the number.
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// suffix is appended to the number.
	// +optional
	Suffix string `json:"suffix,omitempty"`
}

// MetaDataNamespace renders the namespace of the machine.
type MetaDataNamespace struct {
	// key of the entry.
	// +required
	Key string `json:"key"`
}

// FromPool refers to a property of an address pool.
type FromPool struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	IPPoolReference `json:",inline"`
}

// MetaDataHostInterface renders a MAC address of the host: that of an interface, or the one it boots from.
type MetaDataHostInterface struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// interface is the name of an interface in the hardware details of the
	// host.
	// +optional
	Interface string `json:"interface,omitempty"`

	// fromBootMAC renders spec.bootMACAddress of the host.
	// +optional
	FromBootMAC bool `json:"fromBootMAC,omitempty"`
}

// MetaDataFromLabel renders the value of a label. If the object does not have the label, the value is empty.
type MetaDataFromLabel struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// object that carries the label.
	// +required
	Object DataObject `json:"object"`

	// label is the key of the label.
	// +required
	Label string `json:"label"`
}

// MetaDataFromAnnotation renders the value of an annotation. If the object does not have the annotation, the value is empty.
type MetaDataFromAnnotation struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// object that carries the annotation.
	// +required
	Object DataObject `json:"object"`

	// annotation is the key of the annotation.
	// +required
	Annotation string `json:"annotation"`
}
