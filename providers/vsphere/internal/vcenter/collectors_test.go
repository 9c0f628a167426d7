// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// vCenters is how many there are at a time: tests wait for them more than they compute.
const vCenters = 8

const stock = "vcsim's own collector"

// collector is the property collector that the vCenters of the tests have.
type collector struct {
	name string
	opt  simulator.Option
}

// present is the one that it is the turn of.
var present collector

// TestMain runs every test against two vCenters: one that bundles changes and reports no recent tasks, as vCenter may, and
// one with the property collector that vcsim brings along. COLLECTOR=stock leaves the first to a run under the race detector,
// which the second has to skip.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(vCenters)); err != nil { // unless the command line sets it
		panic(err)
	}
	collectors := []collector{
		{stock, simulator.WithStockCollector()},
		{"the simulator's collector, recent tasks silent", simulator.WithSilentRecentTasks()},
	}
	if os.Getenv("COLLECTOR") == "stock" {
		collectors = collectors[:1]
	}
	for _, present = range collectors {
		_, _ = fmt.Fprintln(os.Stderr, "With", present.name)
		if code := m.Run(); code != 0 {
			os.Exit(code)
		}
	}
}

// StartVCenter starts a simulated vCenter with the collector that it is the turn of.
func StartVCenter(t *testing.T, layout simulator.Layout, opts ...simulator.Option) *simulator.Server {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("with", present.name)
		}
	})
	return simulator.Start(t, layout, append(opts, present.opt)...)
}

// SkipWithStock skips a test that needs what vcsim's own collector lacks.
func SkipWithStock(t *testing.T, lacks string) {
	t.Helper()
	if present.name == stock {
		t.Skip("vcsim's own collector " + lacks)
	}
}
