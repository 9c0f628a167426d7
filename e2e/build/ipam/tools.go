// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins the IPAM provider whose pools tests take addresses of. It is built with another version of Cluster API than
// everything else here.
package tools

import _ "sigs.k8s.io/cluster-api-ipam-provider-in-cluster"
