// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 contains the Harvester kinds of the group
// infrastructure.cluster.x-k8s.io: types, condition types and reasons,
// labels, annotations and finalizers.
//
// The wire format is that of v1beta1 of the upstream Harvester provider: same
// names, types, enums and finalizers. Objects written for upstream are
// accepted and survive a round trip unchanged. This package differs only by
// being more permissive: it has additional optional fields and fewer required
// fields.
//
// v1beta1 is the storage version and the conversion hub.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1

//go:generate go run $CONTROLLER_GEN object paths=../...
