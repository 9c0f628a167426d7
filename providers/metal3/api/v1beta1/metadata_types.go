// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// MetaData is rendered to a map of strings. Each item of a list makes one entry,
// under its key.
type MetaData struct {
	// strings are entries as they are.
	// +optional
	Strings []infrav1.MetaDataString `json:"strings,omitempty"`

	// objectNames are names of the objects behind the machine.
	// +optional
	ObjectNames []infrav1.MetaDataObjectName `json:"objectNames,omitempty"`

	// indexes are the index of the Metal3Data, or numbers made of it.
	// +optional
	Indexes []MetaDataIndex `json:"indexes,omitempty"`

	// ipAddressesFromIPPool are addresses claimed from pools.
	// +optional
	IPAddressesFromPool []FromPool `json:"ipAddressesFromIPPool,omitempty"`

	// prefixesFromIPPool are lengths of the prefixes of pools.
	// +optional
	PrefixesFromPool []FromPool `json:"prefixesFromIPPool,omitempty"`

	// gatewaysFromIPPool are gateways of pools.
	// +optional
	GatewaysFromPool []FromPool `json:"gatewaysFromIPPool,omitempty"`

	// dnsServersFromIPPool are DNS servers of pools, separated by commas.
	// +optional
	DNSServersFromPool []FromPool `json:"dnsServersFromIPPool,omitempty"`

	// namespaces are the namespace of the machine.
	// +optional
	Namespaces []infrav1.MetaDataNamespace `json:"namespaces,omitempty"`

	// fromHostInterfaces are MAC addresses of the host.
	// +optional
	FromHostInterfaces []infrav1.MetaDataHostInterface `json:"fromHostInterfaces,omitempty"`

	// fromLabels are labels of the objects behind the machine.
	// +optional
	FromLabels []infrav1.MetaDataFromLabel `json:"fromLabels,omitempty"`

	// fromAnnotations are annotations of the objects behind the machine.
	// +optional
	FromAnnotations []infrav1.MetaDataFromAnnotation `json:"fromAnnotations,omitempty"`
}

// MetaDataIndex is prefix, index*step+offset and suffix, one after the other.
type MetaDataIndex struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// offset is added to the index after it is multiplied.
	// +optional
	Offset *int32 `json:"offset,omitempty"`

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

// FromPool is something that a pool of addresses gives.
type FromPool struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// apiGroup of the pool; without it, that of metal3's pools.
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`

	// kind of the pool; without it, metal3's.
	// +optional
	Kind string `json:"kind,omitempty"`

	// name of the pool.
	// +required
	Name string `json:"name"`
}
