// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Conditions and reasons of upstream that this provider does not use under these names; it uses the constants of Cluster API.
// They exist for code that compiles against upstream's package.
const (
	// Metal3ClusterReadyCondition is true when all other conditions are true.
	Metal3ClusterReadyCondition = clusterv1.ReadyCondition

	// Metal3ClusterReadyReason surfaces when all other conditions are true.
	Metal3ClusterReadyReason = clusterv1.ReadyReason

	// Metal3ClusterNotReadyReason surfaces when another condition is not true.
	Metal3ClusterNotReadyReason = clusterv1.NotReadyReason

	// Metal3ClusterReadyUnknownReason surfaces when another condition is unknown.
	Metal3ClusterReadyUnknownReason = clusterv1.ReadyUnknownReason

	// Metal3MachineReadyReason surfaces when all other conditions are true.
	Metal3MachineReadyReason = clusterv1.ReadyReason

	// Metal3MachineReadyUnknownReason surfaces when another condition is unknown.
	Metal3MachineReadyUnknownReason = clusterv1.ReadyUnknownReason
)

// Values of fields that no code of this provider names: each is the default, or is passed to the host unchanged.
const (
	// FailureDomainRequired lets the machine use only hosts of its failure domain, and wait until one is free. It is the default.
	FailureDomainRequired FailureDomainPolicy = "Required"

	// HostSelectionByName tries hosts in the order of their names. It is the
	// default.
	HostSelectionByName HostSelectionOrder = "Name"

	// CleaningModeMetadata wipes partition tables.
	CleaningModeMetadata CleaningMode = "metadata"
)
