// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinecontainers runs simulated machines as Docker containers. Each has a disk, which stays when the machine is powered off.
// Bare-metal hosts are configured by a config drive, as the bare-metal operator configures a server; virtual machines on Harvester by
// cloud-init's NoCloud data source, as guests are.
package machinecontainers

import (
	"context"
	"fmt"
	"net"

	"github.com/faultline-io/faultline/e2e/docker"
)

// Arguments returns arguments of `docker run` and `docker create` for a container that boots as a machine.
func Arguments(label, network string) []string {
	return []string{
		"--label", label, "--network", network, "--privileged", "--cgroupns=private",
		"--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", "/var", "--volume", "/lib/modules:/lib/modules:ro",
		// Powering off a machine does not wait for systemd to stop.
		"--stop-signal", "SIGKILL",
	}
}

// Containers are machines with a label on a Docker network.
type Containers struct {
	Docker         docker.Docker
	Label, Network string
}

// Machine describes what to install.
type Machine struct {
	// Image is the image to boot from, and Files are added to its disk.
	Image string
	Files []docker.File
	// Address is the machine's address on the network; nil lets Docker choose.
	Address net.IP
	// Arguments are additional arguments of `docker create`.
	Arguments []string
}

// PowerOn boots a machine from its disk, which is first written if it was erased. It leaves a running machine alone.
func (c Containers) PowerOn(ctx context.Context, name string, installed func() (Machine, error)) error {
	state, err := c.State(ctx, name)
	if err != nil {
		return err
	}
	// A container that was created but never started is the result of an interrupted attempt.
	if state == "" || state == "created" {
		if err := c.install(ctx, name, installed); err != nil {
			return fmt.Errorf("installing container %s: %w", name, err)
		}
	}
	_, err = c.Docker.Run(ctx, "start", name)
	return err
}

// install recreates the container. Docker chooses its MAC address, because not every engine allows setting it.
func (c Containers) install(ctx context.Context, name string, installed func() (Machine, error)) error {
	m, err := installed()
	if err != nil {
		return err
	}
	if err := c.Docker.Remove(ctx, name); err != nil {
		return err
	}
	args := append([]string{"create", "--name", name}, Arguments(c.Label, c.Network)...)
	if m.Address != nil {
		args = append(args, "--ip", m.Address.String())
	}
	if _, err := c.Docker.Run(ctx, append(append(args, m.Arguments...), m.Image)...); err != nil {
		return err
	}
	return c.Docker.AddFiles(ctx, name, m.Files)
}

// PowerOff stops a machine, which keeps its disk.
func (c Containers) PowerOff(ctx context.Context, name string) error {
	if state, err := c.State(ctx, name); err != nil || state == "" {
		return err
	}
	_, err := c.Docker.Run(ctx, "stop", name)
	return err
}

// State returns Docker's state of the container; "" if it does not exist.
func (c Containers) State(ctx context.Context, name string) (string, error) {
	return c.Docker.Run(ctx, "ps", "--all", "--filter", "name=^"+name+"$", "--format", "{{.State}}")
}

// Address returns the address that Docker assigned to a machine; "" if it does not run.
func (c Containers) Address(ctx context.Context, name string) (string, error) {
	if state, err := c.State(ctx, name); err != nil || state != "running" {
		return "", err
	}
	return c.Docker.Run(ctx, "inspect", name, "--format", fmt.Sprintf("{{with index .NetworkSettings.Networks %q}}{{.IPAddress}}{{end}}", c.Network))
}
