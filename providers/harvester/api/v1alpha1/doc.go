// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the Harvester kinds of the group
// infrastructure.cluster.x-k8s.io as they were before v1beta1, for those who
// still write them. It does not change any more. Structs that are the same in
// both versions are those of v1beta1.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1alpha1
