// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// MetaData is rendered to a map of strings. Each list item renders one entry under its key.
type MetaData struct {
	// strings are entries with a fixed value.
	// +optional
	Strings []infrav1.MetaDataString `json:"strings,omitempty"`

	// objectNames are names of the objects that belong to the machine.
	// +optional
	ObjectNames []infrav1.MetaDataObjectName `json:"objectNames,omitempty"`

	// indexes are entries computed from the index of the Metal3Data.
	// +optional
	Indexes []MetaDataIndex `json:"indexes,omitempty"`

	// ipAddressesFromIPPool are addresses claimed from pools.
	// +optional
	IPAddressesFromPool []FromPool `json:"ipAddressesFromIPPool,omitempty"`

	// prefixesFromIPPool are prefix lengths of pools.
	// +optional
	PrefixesFromPool []FromPool `json:"prefixesFromIPPool,omitempty"`

	// gatewaysFromIPPool are gateways of pools.
	// +optional
	GatewaysFromPool []FromPool `json:"gatewaysFromIPPool,omitempty"`

	// dnsServersFromIPPool are DNS servers of pools, separated by commas.
	// +optional
	DNSServersFromPool []FromPool `json:"dnsServersFromIPPool,omitempty"`

	// namespaces are entries with the namespace of the machine.
	// +optional
	Namespaces []infrav1.MetaDataNamespace `json:"namespaces,omitempty"`

	// fromHostInterfaces are MAC addresses of the host.
	// +optional
	FromHostInterfaces []infrav1.MetaDataHostInterface `json:"fromHostInterfaces,omitempty"`

	// fromLabels are labels of the objects that belong to the machine.
	// +optional
	FromLabels []infrav1.MetaDataFromLabel `json:"fromLabels,omitempty"`

	// fromAnnotations are annotations of the objects that belong to the machine.
	// +optional
	FromAnnotations []infrav1.MetaDataFromAnnotation `json:"fromAnnotations,omitempty"`
}

// MetaDataIndex renders the concatenation of prefix, index*step+offset and suffix.
type MetaDataIndex struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// offset is added after the index is multiplied by step.
	// +optional
	Offset *int32 `json:"offset,omitempty"`

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

// FromPool refers to a property of an address pool.
type FromPool struct {
	// key of the entry.
	// +required
	Key string `json:"key"`

	// apiGroup of the pool. Defaults to the API group of metal3 IPPools.
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`

	// kind of the pool. Defaults to the kind of metal3 pools.
	// +optional
	Kind string `json:"kind,omitempty"`

	// name of the pool.
	// +required
	Name string `json:"name"`
}
