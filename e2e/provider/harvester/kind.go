// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	// startTimeout is how long the simulated Harvester may take to start: it has an API server.
	startTimeout = 3 * time.Minute
	// lastVariable is the last that it tells.
	lastVariable = "VM_SSH_USER"
	// apiServer is the port of Harvester's API server.
	apiServer = ":6443"
)

// CutOff takes the power from the hosts of a zone.
func (Provider) CutOff(zone string) string { return lostZone + "/" + zone }

// Simulator implements provider.Contained.
func (Provider) Simulator() provider.Simulator {
	return provider.Simulator{
		Program: "harvestersim", Container: "harvester", Programs: []string{binaries.Etcd, binaries.APIServer, binaries.Scheduler},
	}
}

// Start runs the simulated Harvester on the network of the node. It starts anew, with nothing, only when its image has moved.
func (p Provider) Start(ctx context.Context, k provider.Kind) (provider.Beside, error) {
	return k.Run(ctx, p.Simulator(), p.MachineContainer(".*"), p.arguments(k), provider.Telling{Within: startTimeout, Last: lastVariable})
}

// arguments run the simulated Harvester. One whose virtual machines are containers starts them beside itself, and answers for their
// load balancers.
func (p Provider) arguments(k provider.Kind) []string {
	name, image := k.Container(p.Simulator()), p.Simulator().Image(k.Boot)
	args := []string{
		"run", "--detach", "--name", name, "--network", k.Network, "--label", k.Label,
		"--env", binaries.AssetsVariable + "=" + provider.SimulatorPrograms, "--tmpfs", "/tmp",
	}
	command := []string{
		"--listen", apiServer, "--control", ":" + provider.ControlPort,
		"--zone-names", strings.Join(zoneNames(), ","), "--hosts-per-zone", strconv.Itoa(hostsPerZone),
		"--boot", "1s", "--agent", "500ms", "--shutdown", "500ms", "--reset", "5s",
	}
	if !k.Boot {
		return append(append(args, "--read-only", image), command...)
	}
	args = append(args, "--volume", "/var/run/docker.sock:/var/run/docker.sock", "--cap-add", "NET_ADMIN", image)
	return append(append(args, command...), "--announce", "eth0",
		"--containers", name, "--container-image", k.Machine, "--container-label", k.Label, "--container-network", k.Network)
}

// FitTemplate leaves templates as they are.
func (Provider) FitTemplate(template []byte, _ provider.Kind) ([]byte, error) { return template, nil }

// MachineContainer implements provider.Contained.
func (Provider) MachineContainer(machine string) string {
	return "-vm-" + vmNamespace + "-" + machine + "$"
}
