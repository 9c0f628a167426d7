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
	// startTimeout bounds the start of the simulated Harvester, which includes an API server.
	startTimeout = 3 * time.Minute
	// lastVariable is the last variable that it prints.
	lastVariable = "VM_SSH_USER"
	// apiServer is the port of Harvester's API server.
	apiServer = ":6443"
)

// CutOff returns the fault that powers off the hosts of a zone.
func (Provider) CutOff(zone string) string { return lostZone + "/" + zone }

// Simulator implements provider.KindProvider.
func (Provider) Simulator() provider.Simulator {
	return provider.Simulator{
		Program: "harvestersim", Container: "harvester", Programs: []string{binaries.Etcd, binaries.APIServer, binaries.Scheduler},
	}
}

// Start runs the simulated Harvester on the network of the node. It restarts it without state only if its image has changed.
func (p Provider) Start(ctx context.Context, k provider.Kind) (provider.RunningSimulator, error) {
	return k.Run(ctx, p.Simulator(), p.MachineContainer(".*"), p.arguments(k), provider.StartOptions{Timeout: startTimeout, LastVariable: lastVariable})
}

// arguments returns the docker arguments of the simulated Harvester. If virtual machines are containers, it starts them next to itself,
// and serves the addresses of their load balancers.
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

// FitTemplate returns templates unchanged.
func (Provider) FitTemplate(template []byte, _ provider.Kind) ([]byte, error) { return template, nil }

// MachineContainer implements provider.KindProvider.
func (Provider) MachineContainer(machine string) string {
	return "-vm-" + vmNamespace + "-" + machine + "$"
}
