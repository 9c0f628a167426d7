// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta2 holds the metal3 kinds of the API group infrastructure.cluster.x-k8s.io: types, condition types and reasons,
// labels, annotations and finalizers.
//
// The wire format is that of the metal3 provider's v1beta2: same names, types, enums and finalizers. Objects written for it are
// accepted and read back unchanged. Where this package differs it is more permissive, never stricter: a higher limit, an
// additional optional field, a required field that became optional.
//
// v1beta2 is the storage version and the conversion hub.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta2

//go:generate go run $CONTROLLER_GEN object paths=../...
