// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"time"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	// startTimeout is how long the simulated vCenter may take to start.
	startTimeout = 30 * time.Second
	// lastVariable is the last that it writes.
	lastVariable = "VSPHERE_ZONE_C_NETWORK"
)

// CutOff has the vCenter lose the hosts of the compute cluster that is the zone.
func (Provider) CutOff(zone string) string { return "lost-hosts/" + zone }

// Simulator implements provider.Contained.
func (Provider) Simulator() provider.Simulator {
	return provider.Simulator{Program: "vcsim", Container: "vcenter"}
}

// Replaced implements provider.Replacing.
func (Provider) Replaced() provider.Replaced {
	return provider.Replaced{
		Program: binaries.UpstreamVSphere,
		Source: func(ctx context.Context, builder *binaries.Builder) (folder, version string, err error) {
			return builder.Upstream(ctx)
		},
	}
}

// Start runs the simulated vCenter on the network of the node. It starts
// anew, with an empty inventory, only when its image has moved.
func (p Provider) Start(ctx context.Context, k provider.Kind) (provider.Beside, error) {
	return k.Run(ctx, p.Simulator(), p.MachineContainer(".*"), p.arguments(k), provider.Telling{Within: startTimeout, Last: lastVariable})
}

// arguments run the simulated vCenter. One whose machines are containers
// starts them beside itself.
func (p Provider) arguments(k provider.Kind) []string {
	image := p.Simulator().Image(k.Boot)
	args := []string{"run", "--detach", "--name", k.Container(p.Simulator()), "--network", k.Network, "--label", k.Label}
	if !k.Boot {
		return append(args, "--read-only", "--tmpfs", "/tmp", image)
	}
	return append(args, "--volume", "/var/run/docker.sock:/var/run/docker.sock", image, "--containers")
}

// MachineContainer implements provider.Contained.
func (Provider) MachineContainer(machine string) string {
	return "^vcsim-" + machine + "-[0-9a-f-]{36}$"
}
