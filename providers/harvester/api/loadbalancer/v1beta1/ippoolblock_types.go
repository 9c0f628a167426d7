// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// BlocksAnnotation on an IPPool says, with the value "true", that holders
	// of its addresses are in IPPoolBlocks, too. From then on nothing is added
	// to status.allocated any more.
	BlocksAnnotation = "loadbalancer.harvesterhci.io/blocks"

	// PoolLabel on an IPPoolBlock names its pool.
	PoolLabel = "loadbalancer.harvesterhci.io/pool"
)

// IPPoolBlock says who holds addresses of a large IPPool: those of 32
// neighbours that the status of the pool does not have.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ippoolblocks,scope=Cluster
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="POOL",type="string",JSONPath=".pool"
// +kubebuilder:printcolumn:name="FIRST",type="string",JSONPath=".first"
// +kubebuilder:printcolumn:name="PART",type="string",JSONPath=".part"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type IPPoolBlock struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// pool is the name of the IPPool.
	// +required
	// +kubebuilder:validation:MinLength=1
	Pool string `json:"pool"`

	// first is the first of the 256 addresses that those of the block are
	// among; its last byte is 0.
	// +required
	// +kubebuilder:validation:MinLength=1
	First string `json:"first"`

	// part is which of them the block is for, as 172.17.1.32/27. Without it, it
	// is for all of them, as earlier versions of the manager have made it.
	// +optional
	Part string `json:"part,omitempty"`

	// allocated is who has an address, as namespace/name.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	Allocated map[string]string `json:"allocated,omitempty"`

	// allocatedHistory is who had an address that is free now.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	AllocatedHistory map[string]string `json:"allocatedHistory,omitempty"`

	// released is when an address that rests was given back.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	Released map[string]string `json:"released,omitempty"`
}

// IPPoolBlockList is a list of IPPoolBlocks.
//
// +kubebuilder:object:root=true
type IPPoolBlockList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPPoolBlock `json:"items"`
}
