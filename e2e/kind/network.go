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
)

// describeNetwork adds the variable with the address that a workload cluster may use.
func (e *Environment) describeNetwork(ctx context.Context, log io.Writer, network string) error {
	subnets, err := e.docker(log).Run(ctx, "network", "inspect", network, "--format", "{{range .IPAM.Config}}{{.Subnet}} {{end}}")
	if err != nil {
		return err
	}
	address, err := virtualIP(strings.Fields(subnets))
	if err != nil {
		return fmt.Errorf("choosing the address of a control plane on Docker's network %s: %w", network, err)
	}
	e.found.variables["CONTROL_PLANE_ENDPOINT_IP"] = address
	return nil
}

// labelled returns the IDs of the environment's Docker objects.
func (e *Environment) labelled(ctx context.Context, log io.Writer, list ...string) ([]string, error) {
	found, err := e.docker(log).Run(ctx, append(list, "--quiet", "--filter", "label="+environmentLabel+"="+e.Name)...)
	return strings.Fields(found), err
}

// virtualIP returns an address near the end of the network. Docker assigns addresses from the start and does not get that far.
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
	return "", fmt.Errorf("no IPv4 network found in %q", subnets)
}
