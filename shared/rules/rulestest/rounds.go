// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !full && !race

package rulestest

const (
	// rounds is the number of random objects of each version of a kind that Lossless converts.
	rounds = 1000
	// exhaustive makes Keeping convert as many random objects as Cluster API does.
	exhaustive = false
)
