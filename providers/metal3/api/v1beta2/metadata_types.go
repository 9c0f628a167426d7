// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// MetaData is rendered to a map of strings. Each item of a list makes one entry,
// under its key. A key may be in several lists: strings go before annotations,
// then labels, objectNames, namespaces, indexes, dnsServersFromPool,
// gatewaysFromPool, prefixesFromPool, ipAddressesFromPool and
// fromHostInterfaces. The entry providerid is always the controller's.
type MetaData struct {
	// strings are entries as they are.
	// +optional
	// +listType=map
	// +listMapKey=key
	Strings []MetaDataString `json:"strings,omitempty"`

	// objectNames are names of the objects behind the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	ObjectNames []MetaDataObjectName `json:"objectNames,omitempty"`

	// indexes are the index of the Metal3Data, or numbers made of it.
	// +optional
	// +listType=map
	// +listMapKey=key
	Indexes []MetaDataIndex `json:"indexes,omitempty"`

	// namespaces are the namespace of the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	Namespaces []MetaDataNamespace `json:"namespaces,omitempty"`

	// ipAddressesFromPool are addresses claimed from pools.
	// +optional
	// +listType=map
	// +listMapKey=key
	IPAddressesFromPool []FromPool `json:"ipAddressesFromPool,omitempty"`

	// prefixesFromPool are lengths of the prefixes of pools.
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

	// fromLabels are labels of the objects behind the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	FromLabels []MetaDataFromLabel `json:"fromLabels,omitempty"`

	// fromAnnotations are annotations of the objects behind the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	FromAnnotations []MetaDataFromAnnotation `json:"fromAnnotations,omitempty"`
}

// MetaDataString is an entry as it is.
type MetaDataString struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// value of the entry.
	// +required
	Value string `json:"value"`
}

// MetaDataObjectName is the name of an object behind the machine.
type MetaDataObjectName struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// object whose name it is.
	// +required
	Object DataObject `json:"object"`
}

// MetaDataIndex is prefix, index*step+offset and suffix, one after the other.
type MetaDataIndex struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// offset is added to the index after it is multiplied.
	// +optional
	Offset int32 `json:"offset,omitempty"`

	// step is what the index is multiplied by.
	// +optional
	// +kubebuilder:default=1
	Step *int32 `json:"step,omitempty"`

	// prefix is put before the number.
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// suffix is put after the number.
	// +optional
	Suffix string `json:"suffix,omitempty"`
}

// MetaDataNamespace is the namespace of the machine.
type MetaDataNamespace struct {
	// key of the entry.
	// +required
	Key string `json:"key"`
}

// FromPool is something that a pool of addresses gives.
type FromPool struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	IPPoolReference `json:",inline"`
}

// MetaDataHostInterface is a MAC address of the host: that of an interface or
// the one it boots from.
type MetaDataHostInterface struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// interface is the name of an interface in the hardware details of the
	// host.
	// +optional
	Interface string `json:"interface,omitempty"`

	// fromBootMAC takes spec.bootMACAddress of the host.
	// +optional
	FromBootMAC bool `json:"fromBootMAC,omitempty"`
}

// MetaDataFromLabel is the value of a label, or nothing when the object has no
// such label.
type MetaDataFromLabel struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// object that has the label.
	// +required
	Object DataObject `json:"object"`

	// label is the key of the label.
	// +required
	Label string `json:"label"`
}

// MetaDataFromAnnotation is the value of an annotation, or nothing when the
// object has no such annotation.
type MetaDataFromAnnotation struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// object that has the annotation.
	// +required
	Object DataObject `json:"object"`

	// annotation is the key of the annotation.
	// +required
	Annotation string `json:"annotation"`
}
