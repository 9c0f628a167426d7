// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the group ipam.metal3.io that addresses
// of machines are claimed with: IPPool, IPClaim and IPAddress.
//
// They belong to the metal3 IP address manager, which brings their CRDs and
// controllers; here is only what goes over the wire.
//
// +kubebuilder:object:generate=true
// +groupName=ipam.metal3.io
package v1alpha1
