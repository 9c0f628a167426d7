// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"math/rand/v2"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

func chaosModes() []provider.FaultMode[*simulator.Simulator, simulator.Option, simulator.Host] {
	return provider.FaultModes("Harvester obeys immediately", simulator.Faults())
}

func (h *target) Disturb(_ context.Context, random *rand.Rand) error {
	return h.disturbance.Next(random)
}

func (h *target) EndDisturbances(context.Context) error { return h.disturbance.End() }
