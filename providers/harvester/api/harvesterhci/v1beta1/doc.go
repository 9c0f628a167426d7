// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 contains the kinds of the group harvesterhci.io that
// virtual machines are created with: KeyPair and VirtualMachineImage.
//
// They belong to Harvester, which installs their CRDs and controllers. This
// package has only the fields that are read. They are never written.
//
// +kubebuilder:object:generate=true
// +groupName=harvesterhci.io
package v1beta1
