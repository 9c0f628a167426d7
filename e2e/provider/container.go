// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apiwait "k8s.io/apimachinery/pkg/util/wait"

	"github.com/faultline-io/faultline/e2e/docker"
)

// ensureRunning runs the container of a simulator that keeps its state in memory. It restarts the simulator without state only if
// its image has changed. It then removes the machines of the previous one, whose containers have names of this pattern.
func (k Kind) ensureRunning(ctx context.Context, s Simulator, machines string, arguments []string) error {
	name := k.Container(s)
	image, err := k.Docker.ImageID(ctx, s.Image(k.Boot))
	if err != nil {
		return err
	}
	running, err := k.Docker.Run(ctx, "ps", "--quiet", "--filter", "name=^"+name+"$", "--filter", "ancestor="+image)
	if err != nil || running != "" {
		return err
	}
	left, err := k.Docker.Run(ctx, "ps", "--all", "--quiet", "--filter", "label="+k.Label, "--filter", "name=^"+name, "--filter", "name="+machines)
	if err != nil {
		return err
	}
	if left != "" {
		if err := k.Docker.Remove(ctx, strings.Fields(left)...); err != nil {
			return err
		}
	}
	_, err = k.Docker.Run(ctx, arguments...)
	return err
}

// Arguments returns docker's arguments for the container of a simulator, with further options and the command's arguments. If machines are
// containers, the simulator starts them next to itself.
func (k Kind) Arguments(s Simulator, options []string, command ...string) []string {
	args := []string{"run", "--detach", "--name", k.Container(s), "--network", k.Network, "--label", k.Label}
	if k.Boot {
		args = append(args, "--volume", "/var/run/docker.sock:/var/run/docker.sock")
	} else {
		args = append(args, "--read-only", "--tmpfs", "/tmp")
	}
	return slices.Concat(args, options, []string{s.Image(k.Boot)}, command)
}

// Run keeps the container of such a simulator running, unless another environment's simulator is used, and returns its variables.
func (k Kind) Run(ctx context.Context, s Simulator, machines string, arguments []string) (RunningSimulator, error) {
	if k.SimulatorOf == "" {
		if err := k.ensureRunning(ctx, s, machines, arguments); err != nil {
			return RunningSimulator{}, err
		}
	}
	told, err := WaitForVariables(ctx, k.Docker, k.Container(s), s.StartTimeout, s.LastVariable)
	if err != nil {
		return RunningSimulator{}, err
	}
	if k.Boot { // The machines share these.
		told["POD_CIDR"] = "10.245.0.0/16"
	}
	return RunningSimulator{Variables: told, Network: k.Network}, nil
}

// WaitForVariables waits until a simulator's container has printed the variables of cluster templates: NAME=value, one per line. last is
// the name of the last variable.
func WaitForVariables(ctx context.Context, d docker.Docker, container string, within time.Duration, last string) (told map[string]string, err error) {
	err = apiwait.PollUntilContextTimeout(ctx, within/100, within, true, func(ctx context.Context) (bool, error) {
		said, err := d.Run(ctx, "logs", container)
		told = variables(said)
		return err == nil && told[last] != "", nil
	})
	if err != nil {
		return nil, fmt.Errorf("the simulator in container %s does not start (see docker logs %s): %w", container, container, err)
	}
	return told, nil
}

// variables parses NAME=value lines and ignores others.
func variables(said string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(said) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.ContainsAny(name, " \t") {
			found[name] = value
		}
	}
	return found
}
