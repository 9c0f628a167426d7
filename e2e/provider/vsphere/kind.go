// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiwait "k8s.io/apimachinery/pkg/util/wait"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/provider"
)

// startTimeout is how long the simulated vCenter may take to start.
const startTimeout = 30 * time.Second

// HostsLost is the fault of a vCenter that has lost the hosts of a compute cluster.
func HostsLost(cluster string) string { return "lost-hosts/" + cluster }

// Simulator implements provider.Contained.
func (Provider) Simulator() provider.Simulator {
	return provider.Simulator{Program: "vcsim", Container: "vcenter"}
}

// Start runs the simulated vCenter on the network of the node. It starts
// anew, with an empty inventory, only when its image has moved.
func (p Provider) Start(ctx context.Context, k provider.Kind) (provider.Beside, error) {
	if k.SimulatorOf == "" {
		if err := p.ensure(ctx, k); err != nil {
			return provider.Beside{}, err
		}
	}
	variables, err := describe(ctx, k.Docker, k.Container(p.Simulator()))
	if err != nil {
		return provider.Beside{}, err
	}
	if k.Boot { // The machines share these out among themselves.
		variables["POD_CIDR"] = "10.245.0.0/16"
	}
	return provider.Beside{Variables: variables, Network: k.Network}, nil
}

func (p Provider) ensure(ctx context.Context, k provider.Kind) error {
	name := k.Container(p.Simulator())
	image, err := k.Docker.ImageID(ctx, p.Simulator().Image(k.Boot))
	if err != nil {
		return err
	}
	running, err := k.Docker.Run(ctx, "ps", "--quiet", "--filter", "name=^"+name+"$", "--filter", "ancestor="+image)
	if err != nil || running != "" {
		return err
	}
	// Another vCenter knows nothing of the machines of this one.
	left, err := k.Docker.Run(ctx, "ps", "--all", "--quiet", "--filter", "label="+k.Label,
		"--filter", "name=^"+name, "--filter", "name="+p.MachineContainer(".*"))
	if err != nil {
		return err
	}
	if left != "" {
		if err := k.Docker.Remove(ctx, strings.Fields(left)...); err != nil {
			return err
		}
	}
	_, err = k.Docker.Run(ctx, p.arguments(k)...)
	return err
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

// AddVCenter starts another simulated vCenter, with the inventory of a layout that
// cmd/vcsim knows, and tells what cluster templates need to know about it. It is
// there until remove is called, or the environment is taken down.
func AddVCenter(ctx context.Context, k provider.Kind, layout string) (variables map[string]string, remove func(context.Context) error, err error) {
	simulator := Provider{}.Simulator()
	name := k.Container(simulator) + "-" + layout
	remove = func(ctx context.Context) error { return k.Docker.Remove(ctx, name) }
	if err := remove(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := k.Docker.Run(ctx, "run", "--detach", "--name", name, "--network", k.Network, "--label", k.Label,
		"--read-only", "--tmpfs", "/tmp", simulator.Image(false), "--layout", layout); err != nil {
		return nil, nil, err
	}
	variables, err = describe(ctx, k.Docker, name)
	return variables, remove, err
}

// describe waits until the simulated vCenter of that name has said what cluster
// templates need to know about it.
func describe(ctx context.Context, d docker.Docker, name string) (found map[string]string, err error) {
	err = apiwait.PollUntilContextTimeout(ctx, startTimeout/100, startTimeout, true, func(ctx context.Context) (bool, error) {
		said, err := d.Run(ctx, "logs", name)
		found = variables(said)
		return err == nil && complete(found), nil
	})
	if err != nil {
		return nil, fmt.Errorf("the simulated vCenter (container %s) does not start: %w", name, err)
	}
	return found, nil
}

// variables reads NAME=value lines; others are passed over.
func variables(said string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(said) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.ContainsAny(name, " \t") {
			found[name] = value
		}
	}
	return found
}

// complete tells whether the last variable that the simulator writes is there.
func complete(variables map[string]string) bool { return variables["VSPHERE_ZONE_C_NETWORK"] != "" }
