// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the vSphere kinds of the group
// infrastructure.cluster.x-k8s.io as they were before v1beta2, for those who
// still write them: names, types and defaults are those of the vSphere
// provider's v1beta1, and what its schema lets in is let in here. It does not
// change any more. What v1beta2 has beyond it is kept in an annotation.
//
// Enumerations, resources and conditions are the same in both versions and
// those of v1beta2.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1
