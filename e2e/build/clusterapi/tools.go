// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins the Cluster API managers that the demo and the kind
// cluster run, and clusterctl.
package tools

import (
	_ "sigs.k8s.io/cluster-api/bootstrap/kubeadm"
	_ "sigs.k8s.io/cluster-api/cmd/clusterctl"
	_ "sigs.k8s.io/cluster-api/controlplane/kubeadm"
	_ "sigs.k8s.io/cluster-api/core"
)
