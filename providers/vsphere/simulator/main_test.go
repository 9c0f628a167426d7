// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets eight tests run at a time, unless the command line says otherwise: they wait more than they compute.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
