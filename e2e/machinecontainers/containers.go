// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinecontainers runs simulated machines as containers of Docker: each has a disk, which stays when it has no power. Hosts of bare
// metal are told by a config drive what they are, as the bare-metal operator tells a server; virtual machines on Harvester by cloud-init's
// NoCloud, as guests are.
package machinecontainers

import (
	"bytes"
	"context"
	"fmt"
	"net"

	"github.com/faultline-io/faultline/e2e/docker"
)

// Arguments of `docker run` and `docker create` for a container that boots as a machine.
func Arguments(label, network string) []string {
	return []string{
		"--label", label, "--network", network, "--privileged", "--cgroupns=private",
		"--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", "/var", "--volume", "/lib/modules:/lib/modules:ro",
		// systemd takes its time to stop, and who switches a machine off does not wait for its goodbye.
		"--stop-signal", "SIGKILL",
	}
}

// Containers are machines with a label on a network of Docker.
type Containers struct {
	Docker         docker.Docker
	Label, Network string
}

// Machine is what is installed.
type Machine struct {
	// Image is what it boots from, and Files are added to its disk.
	Image string
	Files []docker.File
	// Address is its own on the network; nil leaves that to Docker.
	Address net.IP
	// Arguments are more ones of `docker create`.
	Arguments []string
}

// PowerOn boots a machine from its disk, which is written now if it was erased. A machine that runs goes on.
func (c Containers) PowerOn(ctx context.Context, name string, installed func() (Machine, error)) error {
	state, err := c.State(ctx, name)
	if err != nil {
		return err
	}
	// A container without its files is left of an attempt that was cut short.
	if state == "" || state == "created" {
		if err := c.install(ctx, name, installed); err != nil {
			return fmt.Errorf("installing container %s: %w", name, err)
		}
	}
	_, err = c.Docker.Run(ctx, "start", name)
	return err
}

// install makes the container anew. Its hardware address is Docker's own: not every engine lets one choose.
func (c Containers) install(ctx context.Context, name string, installed func() (Machine, error)) error {
	m, err := installed()
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := docker.Archive(&archive, m.Files); err != nil {
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
	return c.Docker.Feed(ctx, &archive, "cp", "-", name+":/")
}

// PowerOff stops a machine, which keeps its disk.
func (c Containers) PowerOff(ctx context.Context, name string) error {
	if state, err := c.State(ctx, name); err != nil || state == "" {
		return err
	}
	_, err := c.Docker.Run(ctx, "stop", name)
	return err
}

// Erase removes a machine with its disk.
func (c Containers) Erase(ctx context.Context, name string) error { return c.Docker.Remove(ctx, name) }

// State is Docker's word for what the container does; "" when there is none.
func (c Containers) State(ctx context.Context, name string) (string, error) {
	return c.Docker.Run(ctx, "ps", "--all", "--filter", "name=^"+name+"$", "--format", "{{.State}}")
}

// Address is what Docker has given a machine; "" when it does not run.
func (c Containers) Address(ctx context.Context, name string) (string, error) {
	if state, err := c.State(ctx, name); err != nil || state != "running" {
		return "", err
	}
	return c.Docker.Run(ctx, "inspect", name, "--format", fmt.Sprintf("{{with index .NetworkSettings.Networks %q}}{{.IPAddress}}{{end}}", c.Network))
}
