// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins the last release of upstream's vSphere provider for Cluster API's v1beta1 contract, which ours takes over from.
package tools

import _ "sigs.k8s.io/cluster-api-provider-vsphere"
