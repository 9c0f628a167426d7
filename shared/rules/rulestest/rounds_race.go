// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package rulestest

// Conversions have one goroutine. The race detector would find nothing in more rounds, and makes each ten times as slow.
const (
	rounds     = 20
	exhaustive = false
)
