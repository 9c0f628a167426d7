// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the kinds of the group harvesterhci.io that virtual
// machines are made with: KeyPair and VirtualMachineImage.
//
// They belong to Harvester, which brings their CRDs and controllers; here is only
// what is read of them. They are never written.
//
// +kubebuilder:object:generate=true
// +groupName=harvesterhci.io
package v1beta1
