// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"math/rand/v2"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func chaosModes() []provider.FaultMode[*simulator.Server, simulator.Option, *simulator.Server] {
	return provider.FaultModes("vCenter obeys immediately", simulator.Faults())
}

func (v *target) Disturb(_ context.Context, random *rand.Rand) error {
	return v.disturbance.Next(random)
}

func (v *target) EndDisturbances(context.Context) error { return v.disturbance.End() }
