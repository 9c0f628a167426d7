// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/kind/cluster"
)

// vcenterTimeout is how long the simulated vCenter may take to start.
const vcenterTimeout = 30 * time.Second

// environmentLabel is on every container that belongs to an environment.
const environmentLabel = "io.faultline.environment"

// startVCenter runs the simulated vCenter on the network of the node. It starts
// anew, with an empty inventory, only when its image has moved.
func (e *Environment) startVCenter(ctx context.Context, log io.Writer) error {
	if e.VCenterOf == "" {
		if err := e.ensureVCenter(ctx, log); err != nil {
			return err
		}
	}
	var err error
	if e.found.variables, err = e.describeVCenter(ctx, log); err != nil {
		return err
	}
	return e.describeNetwork(ctx, log)
}

func (e *Environment) ensureVCenter(ctx context.Context, log io.Writer) error {
	d := e.docker(log)
	image, err := d.ImageID(ctx, e.found.vcenter)
	if err != nil {
		return err
	}
	running, err := d.Run(ctx, "ps", "--quiet", "--filter", "name=^"+e.vcenter()+"$", "--filter", "ancestor="+image)
	if err != nil || running != "" {
		return err
	}
	if err := e.removeVCenter(ctx, log); err != nil {
		return err
	}
	_, err = d.Run(ctx, e.vcenterArguments()...)
	return err
}

// AddVCenter starts another simulated vCenter, with the inventory of a layout that
// cmd/vcsim knows, and tells what cluster templates need to know about it. It is
// there until remove is called, or Down.
func (e *Environment) AddVCenter(ctx context.Context, layout string) (variables map[string]string, remove func(context.Context) error, err error) {
	d, name := e.docker(io.Discard), e.vcenter()+"-"+layout
	remove = func(ctx context.Context) error { return d.Remove(ctx, name) }
	if err := remove(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := d.Run(ctx, "run", "--detach", "--name", name, "--network", cluster.Network, "--label", environmentLabel+"="+e.Name,
		"--read-only", "--tmpfs", "/tmp", vcenterImage, "--layout", layout); err != nil {
		return nil, nil, err
	}
	variables, err = e.describe(ctx, io.Discard, name)
	return variables, remove, err
}

// describeNetwork adds the addresses that a cluster may take.
func (e *Environment) describeNetwork(ctx context.Context, log io.Writer) error {
	subnets, err := e.docker(log).Run(ctx, "network", "inspect", e.machineNetwork(), "--format", subnetFormat)
	if err != nil {
		return err
	}
	address, err := virtualIP(strings.Fields(subnets))
	if err != nil {
		return fmt.Errorf("choosing the address of a control plane on Docker's network %s: %w", e.machineNetwork(), err)
	}
	e.found.variables["CONTROL_PLANE_ENDPOINT_IP"] = address
	if e.Boot { // The machines share these out among themselves.
		e.found.variables["POD_CIDR"] = "10.245.0.0/16"
	}
	return nil
}

// virtualIP is an address near the end of the network, where Docker, which counts
// from its start, does not get.
func virtualIP(subnets []string) (string, error) {
	const fromEnd = 155
	for _, subnet := range subnets {
		_, network, err := net.ParseCIDR(subnet)
		if err != nil {
			return "", err
		}
		first, ones := network.IP.To4(), net.IP(network.Mask).To4()
		if first == nil || ones == nil {
			continue
		}
		size := ^binary.BigEndian.Uint32(ones)
		if size < 2*fromEnd {
			return "", fmt.Errorf("%s is too small", subnet)
		}
		last := binary.BigEndian.Uint32(first) + size
		return net.IP(binary.BigEndian.AppendUint32(nil, last-fromEnd)).String(), nil
	}
	return "", fmt.Errorf("there is no IPv4 network among %q", subnets)
}

// vcenterArguments run the simulated vCenter. One whose machines are containers
// starts them beside itself.
func (e *Environment) vcenterArguments() []string {
	args := []string{"run", "--detach", "--name", e.vcenter(), "--network", cluster.Network, "--label", environmentLabel + "=" + e.Name}
	if !e.Boot {
		return append(args, "--read-only", "--tmpfs", "/tmp", e.found.vcenter)
	}
	return append(args, "--volume", "/var/run/docker.sock:/var/run/docker.sock", e.found.vcenter, "--containers")
}

// removeVCenter removes the simulated vCenter and the machines that it has left.
func (e *Environment) removeVCenter(ctx context.Context, log io.Writer) error {
	d := e.docker(log)
	out, err := d.Run(ctx, "ps", "--all", "--quiet", "--filter", "label="+environmentLabel+"="+e.Name)
	if err != nil || out == "" {
		return err
	}
	return d.Remove(ctx, strings.Fields(out)...)
}

func (e *Environment) describeVCenter(ctx context.Context, log io.Writer) (map[string]string, error) {
	return e.describe(ctx, log, e.vcenter())
}

// describe waits until the simulated vCenter of that name has said what cluster
// templates need to know about it.
func (e *Environment) describe(ctx context.Context, log io.Writer, name string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, vcenterTimeout)
	defer cancel()
	tick := time.NewTicker(vcenterTimeout / 100)
	defer tick.Stop()
	for {
		said, err := e.docker(log).Run(ctx, "logs", name)
		if variables := variables(said); err == nil && complete(variables) {
			return variables, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the simulated vCenter (container %s) does not start: %w", name, ctx.Err())
		case <-tick.C:
		}
	}
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
