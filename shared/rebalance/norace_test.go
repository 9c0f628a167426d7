// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package rebalance

// raced is true if the race detector is enabled.
const raced = false
