// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// BlocksAnnotation on an IPPool, with the value "true", reports that
	// holders of its addresses are recorded in IPPoolBlocks, too. No holder is
	// added to status.allocated of such a pool.
	BlocksAnnotation = "loadbalancer.harvesterhci.io/blocks"

	// PoolLabel on an IPPoolBlock names its pool.
	PoolLabel = "loadbalancer.harvesterhci.io/pool"
)

// IPPoolBlock records the holders of 32 adjacent addresses of a large IPPool,
// except those that the status of the pool records.
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

	// first is the first of the 256 addresses that contain those of the
	// block. Its last byte is 0.
	// +required
	// +kubebuilder:validation:MinLength=1
	First string `json:"first"`

	// part is the range of the block within these 256 addresses, such as
	// 172.17.1.32/27. If it is empty, the block has all of them, as blocks of
	// earlier versions of the manager do.
	// +optional
	Part string `json:"part,omitempty"`

	// allocated maps each address to its holder, as namespace/name.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	Allocated map[string]string `json:"allocated,omitempty"`

	// allocatedHistory maps each free address to its last holder.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	AllocatedHistory map[string]string `json:"allocatedHistory,omitempty"`

	// released maps each quarantined address to the time when it was
	// released.
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
