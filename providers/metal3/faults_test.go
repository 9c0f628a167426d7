// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"testing"

	"github.com/faultline-io/faultline/shared/testenv"
)

// TestManagerWithAPIServerFaults is TestManager with an API server that is slow, rejects requests and closes watches.
func TestManagerWithAPIServerFaults(t *testing.T) {
	_ = runManager(t, testenv.RunManagerWithFaults) // the audit log contains the proxy's user for all requests
}
