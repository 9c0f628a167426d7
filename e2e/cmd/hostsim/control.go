// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"

	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// controls injects each of simulator.Faults on PUT and ends it on DELETE, for example /faults/lost-domains/rack-a.
func controls(sim *simulator.Simulator) http.Handler {
	mux := http.NewServeMux()
	tool.HandleFaults(mux, sim.SetFault)
	return mux
}
