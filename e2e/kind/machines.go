// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"
	"fmt"
	"io"

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

// LoadMachines gives machines that boot, given by name, the images that the kind node has: a management cluster is to run
// on them, and nothing can be pulled. Only who has called Up knows the images.
func (e *Environment) LoadMachines(ctx context.Context, machines ...string) error {
	if len(e.found.images) == 0 {
		return errors.New("the environment has been brought up by somebody else")
	}
	for _, machine := range machines {
		container, err := e.containerOf(ctx, machine)
		if err != nil {
			return err
		}
		if _, err := cluster.Load(ctx, e.docker(io.Discard), container, e.found.images...); err != nil {
			return fmt.Errorf("giving machine %s its images: %w", machine, err)
		}
	}
	return nil
}

// containerOf is the container that a machine of the first provider runs in.
func (e *Environment) containerOf(ctx context.Context, machine string) (string, error) {
	container, err := e.docker(io.Discard).Run(ctx, "ps", "--quiet",
		"--filter", "label="+environmentLabel+"="+e.Name, "--filter", "name="+e.Providers[0].MachineContainer(machine))
	if err == nil && container == "" {
		err = fmt.Errorf("no container is machine %s", machine)
	}
	return container, err
}
