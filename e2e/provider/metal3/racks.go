// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/faultline-io/faultline/e2e/machinecontainers"
	"github.com/faultline-io/faultline/e2e/provider"
)

// machineNetwork returns the network of the hosts. Hosts that boot do not use kind's network, because servers keep their addresses and
// Docker assigns no fixed addresses on a network whose subnet it has chosen. The network's name sorts after that of kind's network,
// because Docker uses the gateway of a container's first network by name.
func machineNetwork(k provider.Kind) string {
	if k.Boot {
		return "racks-" + k.Name
	}
	return k.Network
}

// connectRacks creates the network of the hosts and connects the node to it, so that the cluster's pods reach them.
func connectRacks(ctx context.Context, k provider.Kind) error {
	if !k.Boot {
		return nil
	}
	d, network := k.Docker, machineNetwork(k)
	if _, err := d.Run(ctx, "network", "inspect", network); err != nil {
		if err := createRackNetwork(ctx, k); err != nil {
			return fmt.Errorf("creating network %s: %w", network, errors.Join(err, ctx.Err()))
		}
	}
	connected, err := d.Run(ctx, "inspect", "--format", "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}", k.Node)
	if err != nil || strings.Contains(" "+connected+" ", " "+network+" ") {
		return err
	}
	_, err = d.Run(ctx, "network", "connect", network, k.Node)
	return err
}

// createRackNetwork lets Docker choose a free subnet, and then recreates the network with that subnet.
func createRackNetwork(ctx context.Context, k provider.Kind) error {
	d, network := k.Docker, machineNetwork(k)
	if _, err := d.Run(ctx, "network", "create", network); err != nil {
		return err
	}
	subnet, err := d.Subnet(ctx, network)
	if err != nil {
		return err
	}
	if _, err := d.Run(ctx, "network", "rm", network); err != nil {
		return err
	}
	_, err = d.Run(ctx, "network", "create", "--label", k.Label,
		"--subnet", subnet.String(), "--ip-range", machinecontainers.DynamicRange(subnet).String(), network)
	return err
}
