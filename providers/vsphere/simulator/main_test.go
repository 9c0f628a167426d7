// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs eight tests in parallel, unless the command line sets another number: they wait more than they compute.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
