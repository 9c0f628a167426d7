// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	netutils "k8s.io/utils/net"
)

// describeNetwork adds the variable with the address that a workload cluster may use.
func (e *Environment) describeNetwork(ctx context.Context, log io.Writer, network string) error {
	subnet, err := e.docker(log).Subnet(ctx, network)
	if err != nil {
		return err
	}
	address, err := virtualIP(subnet)
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

// virtualIP returns an address near the end of a subnet. Docker assigns addresses from the start and does not get that far.
func virtualIP(subnet *net.IPNet) (string, error) {
	const fromEnd = 155
	last := int(netutils.RangeSize(subnet)) - 1
	if last < 2*fromEnd {
		return "", fmt.Errorf("%s is too small", subnet)
	}
	address, err := netutils.GetIndexedIP(subnet, last-fromEnd)
	return address.String(), err
}
