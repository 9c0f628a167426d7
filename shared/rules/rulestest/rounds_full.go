// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full && !race

package rulestest

const (
	rounds     = 1000
	exhaustive = true
)
