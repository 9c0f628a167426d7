// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"math/rand/v2"

	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// metal3Mode is how hosts and their operator behave.
type metal3Mode struct {
	Mode
	// options are for the simulator's start.
	options []simulator.Option
	// begin is done once, disturb before each kill, calm when all is to come to rest;
	// each may be nil.
	begin   func(context.Context, *metal3) error
	disturb func(context.Context, *metal3, *rand.Rand) error
	calm    func(context.Context, *metal3) error
}

func metal3Modes() []metal3Mode {
	return []metal3Mode{
		{Mode: Mode{"obedient", "hosts do what they are told, in no time"}},
	}
}
