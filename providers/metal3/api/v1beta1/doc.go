// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the metal3 kinds of the group
// infrastructure.cluster.x-k8s.io as they were before v1beta2, for those who
// still write them. It is deprecated and does not change any more. Structs that
// are the same in both versions are those of v1beta2.
//
// The wire format is that of the metal3 provider's v1beta1.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1
