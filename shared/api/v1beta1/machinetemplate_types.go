// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// MachineTemplateStatus is the observed state of a machine template. The cluster autoscaler reads it to add the first machine of a
// MachineDeployment without machines.
type MachineTemplateStatus struct {
	// capacity is what a Node of the template's machines has at least: cpu, memory and, if it is known, ephemeral-storage. Its
	// kubelet reports somewhat less memory and storage.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo describes the Nodes of the template's machines.
	// +optional
	NodeInfo NodeInfo `json:"nodeInfo,omitempty,omitzero"`
}

// Architecture is the processor architecture of a Node.
// +kubebuilder:validation:Enum=amd64;arm64;s390x;ppc64le
type Architecture string

// The processor architectures that Cluster API knows.
const (
	ArchitectureAMD64   Architecture = "amd64"
	ArchitectureARM64   Architecture = "arm64"
	ArchitectureS390X   Architecture = "s390x"
	ArchitecturePPC64LE Architecture = "ppc64le"
)

// NodeInfo is what is known about the Nodes of a machine template before they exist.
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture is the value of the Node label kubernetes.io/arch.
	// +optional
	Architecture Architecture `json:"architecture,omitempty"`

	// operatingSystem is the value of the Node label kubernetes.io/os: linux or windows.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	OperatingSystem string `json:"operatingSystem,omitempty"`
}
