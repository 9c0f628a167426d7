// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/faultline-io/faultline/e2e/chassis"
	"github.com/faultline-io/faultline/e2e/kind/cluster"
)

const subnetFormat = "{{range .IPAM.Config}}{{.Subnet}} {{end}}"

// rackNetwork is the network of the hosts that boot: theirs is not kind's, because servers keep their addresses and
// Docker assigns none for good on a network whose subnet it has chosen itself. The name comes after that of kind's
// network: Docker gives a container the gateway of the network whose name is first.
func (e *Environment) rackNetwork() string { return "racks-" + e.Name }

// machineNetwork is the one that workload clusters are on.
func (e *Environment) machineNetwork() string {
	if e.Boot && e.has(metal3) && !e.has(vSphere) {
		return e.rackNetwork()
	}
	return cluster.Network
}

// connectRacks makes the network of the hosts and puts the node on it, so that the cluster's pods reach them.
func (e *Environment) connectRacks(ctx context.Context, log io.Writer) error {
	if !e.Boot {
		return nil
	}
	d, network := e.docker(log), e.rackNetwork()
	if _, err := d.Run(ctx, "network", "inspect", network); err != nil {
		if err := e.createRackNetwork(ctx, log); err != nil {
			return fmt.Errorf("creating network %s: %w", network, errors.Join(err, ctx.Err()))
		}
	}
	node := e.cluster(log).Node()
	connected, err := d.Run(ctx, "inspect", "--format", "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}", node)
	if err != nil || strings.Contains(" "+connected+" ", " "+network+" ") {
		return err
	}
	_, err = d.Run(ctx, "network", "connect", network, node)
	return err
}

// createRackNetwork lets Docker choose a subnet that is free, and asks for that one then.
func (e *Environment) createRackNetwork(ctx context.Context, log io.Writer) error {
	d, network := e.docker(log), e.rackNetwork()
	if _, err := d.Run(ctx, "network", "create", network); err != nil {
		return err
	}
	said, err := d.Run(ctx, "network", "inspect", network, "--format", subnetFormat)
	if err != nil {
		return err
	}
	if _, err := d.Run(ctx, "network", "rm", network); err != nil {
		return err
	}
	_, subnet, err := net.ParseCIDR(said)
	if err != nil {
		return err
	}
	_, err = d.Run(ctx, "network", "create", "--label", environmentLabel+"="+e.Name,
		"--subnet", subnet.String(), "--ip-range", chassis.DynamicRange(subnet).String(), network)
	return err
}

func (e *Environment) removeRacks(ctx context.Context, log io.Writer) error {
	d := e.docker(log)
	found, err := d.Run(ctx, "network", "ls", "--quiet", "--filter", "label="+environmentLabel+"="+e.Name)
	if err != nil || found == "" {
		return err
	}
	_, err = d.Run(ctx, append([]string{"network", "rm"}, strings.Fields(found)...)...)
	return err
}
