// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the kind of the group k8s.cni.cncf.io that virtual machines
// are attached to networks with.
//
// It belongs to Multus, which Harvester brings; here is only what is read of it. It
// is never written.
//
// +kubebuilder:object:generate=true
// +groupName=k8s.cni.cncf.io
package v1
