// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins a release of upstream's provider for vSphere that is for Cluster API's v1beta2 contract, from which ours takes over.
// What it requires of vm-operator cannot be downloaded under the names that it has there: api v1.10.0 is the same commit, and ncp is
// as the release before requires it.
package tools

import _ "sigs.k8s.io/cluster-api-provider-vsphere"
