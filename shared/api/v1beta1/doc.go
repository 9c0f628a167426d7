// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the API types that are the same for every provider:
// what a user wants of the failure domains of a cluster (Distribution) and what
// is known about them (DistributionStatus). They belong to no API group of their
// own: each provider embeds them in its infrastructure cluster, as
// spec.distribution and status.distribution.
//
// +kubebuilder:object:generate=true
package v1beta1

//go:generate go run $CONTROLLER_GEN object paths=../...
