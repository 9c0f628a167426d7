// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// vCenters is how many vCenters run in parallel: tests mostly wait for them.
const vCenters = 8

const stock = "vcsim's own collector"

// collector is a kind of property collector for the tests' vCenters.
type collector struct {
	name string
	opt  simulator.Option
}

// TestMain runs the tests against vCenters with vcsim's own property collector. `make test-full` uses the simulator's property
// collector, which is safe under the race detector, coalesces changes, and reports no recent tasks, as vCenter may.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(vCenters)); err != nil { // unless the command line sets it
		panic(err)
	}
	os.Exit(m.Run())
}

// StartVCenter starts a simulated vCenter with the collector of these tests.
func StartVCenter(t *testing.T, layout simulator.Layout, opts ...simulator.Option) *simulator.Server {
	t.Helper()
	return simulator.Start(t, layout, append(opts, present.opt)...)
}

// SkipWithStock skips a test that needs what vcsim's own collector lacks.
func SkipWithStock(t *testing.T, lacks string) {
	t.Helper()
	if present.name == stock {
		t.Skip("vcsim's own collector " + lacks)
	}
}
