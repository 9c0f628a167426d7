// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package rulestest

// exhaustive is true in the full tier of tests.
const exhaustive = true
