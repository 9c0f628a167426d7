// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the API group ipam.metal3.io that allocate addresses to machines: IPPool, IPClaim and
// IPAddress.
//
// The metal3 IP address manager owns the CRDs and their controllers; this package holds only the wire format.
//
// +kubebuilder:object:generate=true
// +groupName=ipam.metal3.io
package v1alpha1
