// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits holds limits for packages that do not talk to vCenter.
package limits

// Minimum resources with which Kubernetes starts. They apply to a machine that requests less.
const (
	MinCPUs      = 2
	MinMemoryMiB = 2048
)
