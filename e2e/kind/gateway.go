// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/faultline-io/faultline/e2e/kind/cluster"
)

// Gateway is this machine's address on the network of the node: what listens there is reached from the cluster's pods.
func (e *Environment) Gateway(ctx context.Context) (string, error) {
	out, err := e.docker(io.Discard).Run(ctx, "network", "inspect", cluster.Network, "--format", "{{range .IPAM.Config}}{{.Gateway}} {{end}}")
	if err != nil {
		return "", err
	}
	for field := range strings.FieldsSeq(out) {
		if address, err := netip.ParseAddr(field); err == nil && address.Is4() {
			return field, nil
		}
	}
	return "", fmt.Errorf("network %s has no IPv4 gateway", cluster.Network)
}
