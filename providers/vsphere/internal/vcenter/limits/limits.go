// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits has numbers that those need to know, too, who talk to no vCenter.
package limits

// What Kubernetes needs to start at all, and a machine gets that asks for less.
const (
	MinCPUs      = 2
	MinMemoryMiB = 2048
)
