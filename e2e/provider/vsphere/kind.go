// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"time"

	"github.com/faultline-io/faultline/e2e/provider"
)

// vcentersThatBoot is the number of vCenters if machines are containers, for a cluster that loses one of them.
const vcentersThatBoot = "3"

// CutOff returns the fault in which vCenter loses the hosts of the zone's compute cluster.
func (Provider) CutOff(zone string) string { return "lost-hosts/" + zone }

// Simulator implements provider.KindProvider.
func (Provider) Simulator() provider.Simulator {
	return provider.Simulator{Program: "vcsim", Container: "vcenter", StartTimeout: 30 * time.Second, LastVariable: "VSPHERE_ZONE_C_NETWORK"}
}

// Start runs the simulated vCenter on the network of the node. It restarts it with an empty inventory only if its image has changed.
func (p Provider) Start(ctx context.Context, k provider.Kind) (provider.RunningSimulator, error) {
	return k.Run(ctx, p.Simulator(), p.MachineContainer(".*"), p.arguments(k))
}

// arguments returns the docker arguments of the simulated vCenter.
func (p Provider) arguments(k provider.Kind) []string {
	if !k.Boot {
		return k.Arguments(p.Simulator(), nil)
	}
	return k.Arguments(p.Simulator(), nil, "--containers", "--vcenters="+vcentersThatBoot)
}

// MachineContainer implements provider.KindProvider.
func (Provider) MachineContainer(machine string) string {
	return "^vcsim-" + machine + "-[0-9a-f-]{36}$"
}
