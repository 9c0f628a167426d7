// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Conditions and reasons of upstream that no code of this provider uses under these names: what it sets of them, it sets
// under Cluster API's own. They are here for those who compile against them.
const (
	// Metal3ClusterReadyCondition is true when all the other conditions are.
	Metal3ClusterReadyCondition = clusterv1.ReadyCondition

	// Metal3ClusterReadyReason: all conditions are as they should be.
	Metal3ClusterReadyReason = clusterv1.ReadyReason

	// Metal3ClusterNotReadyReason: a condition is not as it should be.
	Metal3ClusterNotReadyReason = clusterv1.NotReadyReason

	// Metal3ClusterReadyUnknownReason: a condition is not known.
	Metal3ClusterReadyUnknownReason = clusterv1.ReadyUnknownReason

	// Metal3MachineReadyReason: all conditions are as they should be.
	Metal3MachineReadyReason = clusterv1.ReadyReason

	// Metal3MachineReadyUnknownReason: a condition is not known.
	Metal3MachineReadyUnknownReason = clusterv1.ReadyUnknownReason
)

// Values of fields that no code of this provider names: they are the default, or the host is given what is written.
const (
	// FailureDomainRequired gives the machine a host in its failure domain, or
	// lets it wait for one. It is the default.
	FailureDomainRequired FailureDomainPolicy = "Required"

	// HostSelectionByName tries hosts in the order of their names. It is the
	// default.
	HostSelectionByName HostSelectionOrder = "Name"

	// CleaningModeMetadata wipes partition tables.
	CleaningModeMetadata CleaningMode = "metadata"
)
