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

// apiServer is the port of Harvester's API server.
const apiServer = ":6443"

// CutOff returns the fault that powers off the hosts of a zone.
func (Provider) CutOff(zone string) string { return lostZone + "/" + zone }

// Simulator implements provider.KindProvider.
func (Provider) Simulator() provider.Simulator {
	return provider.Simulator{
		Program: "harvestersim", Container: "harvester", Programs: []string{binaries.Etcd, binaries.APIServer, binaries.Scheduler},
		StartTimeout: 3 * time.Minute, LastVariable: "VM_SSH_USER", // It starts an API server.
	}
}

// Start runs the simulated Harvester on the network of the node. It restarts it without state only if its image has changed.
func (p Provider) Start(ctx context.Context, k provider.Kind) (provider.RunningSimulator, error) {
	return k.Run(ctx, p.Simulator(), p.MachineContainer(".*"), p.arguments(k))
}

// arguments returns the docker arguments of the simulated Harvester. If virtual machines are containers, it also serves the addresses of
// their load balancers.
func (p Provider) arguments(k provider.Kind) []string {
	options := []string{"--env", binaries.AssetsVariable + "=" + provider.SimulatorPrograms}
	command := []string{
		"--listen", apiServer, "--control", ":" + provider.ControlPort,
		"--zone-names", strings.Join(zoneNames(), ","), "--hosts-per-zone", strconv.Itoa(hostsPerZone),
		"--boot", "1s", "--agent", "500ms", "--shutdown", "500ms", "--reset", "5s",
	}
	if k.Boot {
		options = append(options, "--tmpfs", "/tmp", "--cap-add", "NET_ADMIN")
		command = append(command, "--announce", "eth0", "--containers", k.Container(p.Simulator()), "--container-image", k.Machine,
			"--container-label", k.Label, "--container-network", k.Network)
	}
	return k.Arguments(p.Simulator(), options, command...)
}

// FitTemplate returns templates unchanged.
func (Provider) FitTemplate(template []byte, _ provider.Kind) ([]byte, error) { return template, nil }

// MachineContainer implements provider.KindProvider.
func (Provider) MachineContainer(machine string) string {
	return "-vm-" + vmNamespace + "-" + machine + "$"
}
