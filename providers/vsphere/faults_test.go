// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"testing"

	"github.com/faultline-io/faultline/shared/testenv"
)

// TestManagerWithAPIServerFaults is TestManager with an API server that responds slowly, rejects requests and closes
// watches.
func TestManagerWithAPIServerFaults(t *testing.T) {
	_ = runsAsInstalled(t, testenv.RunManagerWithFaults) // the log has the proxy's user for all requests
}
