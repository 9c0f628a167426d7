// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the API types that all providers share: the desired use of the failure domains of a cluster
// (Distribution) and their observed state (DistributionStatus). They have no API group of their own: each provider embeds them in
// its infrastructure cluster as spec.distribution and status.distribution.
//
// +kubebuilder:object:generate=true
package v1beta1

//go:generate go run $CONTROLLER_GEN object paths=../...
