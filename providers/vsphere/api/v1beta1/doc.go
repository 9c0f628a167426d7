// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the vSphere kinds of the group infrastructure.cluster.x-k8s.io before v1beta2, for clients that still
// use them. Names, types and defaults are those of the v1beta1 API of Cluster API Provider vSphere, and every object that its
// schema accepts is accepted here. The package is frozen. Values that only v1beta2 has are preserved in an annotation.
//
// Both versions share the enumerations, resources and conditions of v1beta2.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1
