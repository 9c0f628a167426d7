// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"testing"

	"github.com/faultline-io/faultline/shared/testenv"
)

// TestManagerAmidFaultsOfTheAPIServer is TestManager with an API server that is slow, fails requests and closes watches.
func TestManagerAmidFaultsOfTheAPIServer(t *testing.T) {
	_ = runsAsInstalled(t, testenv.RunManagerWithFaults) // The log has the proxy's own user for all requests.
}
