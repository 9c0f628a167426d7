// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"testing"

	"github.com/faultline-io/faultline/shared/testenv"
)

// TestManagerAmidFaultsOfTheAPIServer is TestManager with an API server that is slow, rejects requests and closes watches.
func TestManagerAmidFaultsOfTheAPIServer(t *testing.T) {
	_ = runsAsInstalled(t, testenv.RunManagerAmidFaults) // the audit log contains the proxy's user for all requests
}
