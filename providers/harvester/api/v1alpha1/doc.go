// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 contains the Harvester kinds of the group
// infrastructure.cluster.x-k8s.io as they were before v1beta1, for clients
// that still write them. It is frozen. Structs that are equal in both
// versions are those of v1beta1.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1alpha1
