// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins a release of upstream's vSphere provider for Cluster API's v1beta2 contract, which ours takes over from. The modules
// of vm-operator that it requires cannot be downloaded under its names: api v1.10.0 is the same commit, and ncp is the version that the
// previous release requires.
package tools

import _ "sigs.k8s.io/cluster-api-provider-vsphere"
