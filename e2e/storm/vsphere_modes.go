// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"math/rand/v2"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// vSphereMode is how a vCenter behaves.
type vSphereMode struct {
	Mode
	// options are for its start.
	options []simulator.Option
	// begin is done once, disturb before each kill, calm when all is to come to rest;
	// each may be nil.
	begin   func(*simulator.Server)
	disturb func(*vSphere, *rand.Rand) error
	calm    func(*vSphere) error
}

func vSphereModes() []vSphereMode {
	return []vSphereMode{
		{Mode: Mode{"obedient", "vCenter does what it is told, at once"}},
	}
}
