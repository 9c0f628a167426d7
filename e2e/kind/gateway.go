// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// Gateway is this machine's address on the network of the node: what listens there is reached from the cluster's pods.
func (e *Environment) Gateway(ctx context.Context) (string, error) {
	network, err := e.Network(ctx)
	if err != nil {
		return "", err
	}
	return network.Gateway.String(), nil
}

// Network is the one that the node is on.
type Network struct {
	// Card is this machine's in it, where Docker runs on this machine itself.
	Card    string
	Gateway netip.Addr
	Subnet  netip.Prefix
	// Subnet6 is that of IPv6; the zero Prefix where the network has none.
	Subnet6 netip.Prefix
}

// Network is what Docker knows of the network of the node.
func (e *Environment) Network(ctx context.Context) (Network, error) {
	out, err := e.docker(io.Discard).Run(ctx, "network", "inspect", NodeNetwork, "--format",
		"{{slice .ID 0 12}} {{range .IPAM.Config}}{{.Subnet}},{{.Gateway}} {{end}}")
	if err != nil {
		return Network{}, err
	}
	return parseNetwork(out)
}

// parseNetwork reads the id of a network and its subnets, each with its gateway. Docker may name none for IPv6.
func parseNetwork(inspected string) (Network, error) {
	id, ranges, _ := strings.Cut(inspected, " ")
	network := Network{Card: "br-" + id}
	for _, one := range strings.Fields(ranges) {
		of, at, _ := strings.Cut(one, ",")
		subnet, err := netip.ParsePrefix(of)
		if err != nil {
			continue
		}
		gateway, noAddress := netip.ParseAddr(at)
		switch {
		case subnet.Addr().Is6():
			network.Subnet6 = subnet
		case noAddress == nil:
			network.Gateway, network.Subnet = gateway, subnet
		}
	}
	if !network.Gateway.IsValid() {
		return Network{}, fmt.Errorf("network %s has no IPv4 gateway", NodeNetwork)
	}
	return network, nil
}
