// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta2 holds the vSphere kinds of the group infrastructure.cluster.x-k8s.io: types, condition types and reasons,
// nothing else.
//
// The wire format is that of the v1beta2 API of Cluster API Provider vSphere: it has the same names, types, enums and
// finalizers, so that existing objects are accepted and read back unchanged. Where this package differs, it accepts more: a
// larger limit, an additional optional field, or a required field that is optional. The webhooks reject fields of the wire
// format that no controller supports, instead of dropping them.
//
// v1beta2 is the storage version and the hub of conversion.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta2

//go:generate go run $CONTROLLER_GEN object paths=../...
