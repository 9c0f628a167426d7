// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package simulator

// raceDetector says that the program watches for data races, of which vcsim's own collectors have some.
const raceDetector = true
