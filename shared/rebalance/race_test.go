// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package rebalance

// raced says that the race detector watches.
const raced = true
