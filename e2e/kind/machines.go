// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/faultline-io/faultline/e2e/charts"
	"github.com/faultline-io/faultline/e2e/kind/cluster"
)

// CutPower takes the power from machines that boot, given by name. The simulator of the first provider finds them switched off.
func (e *Environment) CutPower(ctx context.Context, machines ...string) error {
	for _, machine := range machines {
		container, err := e.containerOf(ctx, machine)
		if err != nil {
			return err
		}
		if _, err := e.docker(io.Discard).Run(ctx, "kill", container); err != nil {
			return err
		}
	}
	return nil
}

// HasAddress reports whether a machine that boots, given by name, answers for an address. One that has no power does not.
func (e *Environment) HasAddress(ctx context.Context, machine, address string) (bool, error) {
	running, err := e.running(ctx, machine)
	if err != nil || running == "" {
		return false, err
	}
	out, err := e.docker(io.Discard).Exec(ctx, running, "ip", "-oneline", "address", "show", "to", address)
	return out != "", err
}

// LoadMachines gives machines that boot, given by name, the images that the kind node has: a management cluster is to run
// on them, and nothing can be pulled. Only who has called Up knows the images.
func (e *Environment) LoadMachines(ctx context.Context, machines ...string) error {
	if len(e.found.images) == 0 {
		return errors.New("the environment has been brought up by somebody else")
	}
	return e.load(ctx, e.found.images, machines)
}

// LoadChartImage gives machines that boot, given by name, the image of the program that a chart of ours runs.
func (e *Environment) LoadChartImage(ctx context.Context, chart string, machines ...string) error {
	name, err := charts.Image(e.builder.Root, chart)
	if err != nil {
		return err
	}
	return e.load(ctx, []string{name}, machines)
}

func (e *Environment) load(ctx context.Context, images, machines []string) error {
	for _, machine := range machines {
		container, err := e.containerOf(ctx, machine)
		if err != nil {
			return err
		}
		if _, err := cluster.Load(ctx, e.docker(io.Discard), container, images...); err != nil {
			return fmt.Errorf("giving machine %s its images: %w", machine, err)
		}
	}
	return nil
}

// containerOf is the container that a machine of the first provider runs in.
func (e *Environment) containerOf(ctx context.Context, machine string) (string, error) {
	container, err := e.running(ctx, machine)
	if err == nil && container == "" {
		err = fmt.Errorf("no container is machine %s", machine)
	}
	return container, err
}

// running is the container of a machine; "" when it does not run.
func (e *Environment) running(ctx context.Context, machine string) (string, error) {
	return e.docker(io.Discard).Run(ctx, "ps", "--quiet",
		"--filter", "label="+environmentLabel+"="+e.Name, "--filter", "name="+e.Providers[0].MachineContainer(machine))
}
