// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta2 holds the metal3 kinds of the group
// infrastructure.cluster.x-k8s.io: types, condition types and reasons, labels,
// annotations and finalizers, nothing else.
//
// The wire format is that of the metal3 provider's v1beta2: same names, types,
// enums and finalizers, so that objects written for it are accepted here and
// read back unchanged. Where this package differs it is wider, never narrower:
// a longer bound, an optional field more, a required field less.
//
// v1beta2 is the storage version and the hub of conversion.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta2

//go:generate go run $CONTROLLER_GEN object paths=../...
