// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"time"

	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	// startTimeout bounds the start of the simulated vCenter.
	startTimeout = 30 * time.Second
	// lastVariable is the last variable that it prints.
	lastVariable = "VSPHERE_ZONE_C_NETWORK"
	// vcentersThatBoot is the number of vCenters if machines are containers, for a cluster that loses one of them.
	vcentersThatBoot = "3"
)

// CutOff returns the fault in which vCenter loses the hosts of the zone's compute cluster.
func (Provider) CutOff(zone string) string { return "lost-hosts/" + zone }

// Simulator implements provider.KindProvider.
func (Provider) Simulator() provider.Simulator {
	return provider.Simulator{Program: "vcsim", Container: "vcenter"}
}

// Start runs the simulated vCenter on the network of the node. It restarts it with an empty inventory only if its image has changed.
func (p Provider) Start(ctx context.Context, k provider.Kind) (provider.RunningSimulator, error) {
	return k.Run(ctx, p.Simulator(), p.MachineContainer(".*"), p.arguments(k), provider.StartOptions{Timeout: startTimeout, LastVariable: lastVariable})
}

// arguments returns the docker arguments of the simulated vCenter. If machines are containers, it starts them next to itself.
func (p Provider) arguments(k provider.Kind) []string {
	image := p.Simulator().Image(k.Boot)
	args := []string{"run", "--detach", "--name", k.Container(p.Simulator()), "--network", k.Network, "--label", k.Label}
	if !k.Boot {
		return append(args, "--read-only", "--tmpfs", "/tmp", image)
	}
	return append(args, "--volume", "/var/run/docker.sock:/var/run/docker.sock", image, "--containers", "--vcenters="+vcentersThatBoot)
}

// MachineContainer implements provider.KindProvider.
func (Provider) MachineContainer(machine string) string {
	return "^vcsim-" + machine + "-[0-9a-f-]{36}$"
}
