// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package simulator

const raceDetector = false
