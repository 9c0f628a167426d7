// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 contains the kind of the group k8s.cni.cncf.io that attaches
// virtual machines to networks.
//
// It belongs to Multus, which Harvester installs. This package has only the
// fields that are read. Objects of the kind are never written.
//
// +kubebuilder:object:generate=true
// +groupName=k8s.cni.cncf.io
package v1
