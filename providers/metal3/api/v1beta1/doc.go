// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the metal3 kinds of the API group infrastructure.cluster.x-k8s.io as they were before v1beta2, for
// clients that still use them. It is deprecated and frozen. Structs that are identical in both versions are those of v1beta2.
//
// The wire format is that of the metal3 provider's v1beta1.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1
