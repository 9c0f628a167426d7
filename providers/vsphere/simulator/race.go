// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package simulator

// raceDetector reports whether the race detector is enabled. vcsim's own collectors have data races.
const raceDetector = true
