// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins upstream's provider for vSphere, from which ours takes over. Of its releases that are for Cluster API's v1beta1
// contract this is the last.
package tools

import _ "sigs.k8s.io/cluster-api-provider-vsphere"
