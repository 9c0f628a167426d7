// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"bytes"
	"context"
	"encoding/json"
)

// podSubnet is the subnet that kind assigns to the first, and here only, node of a cluster.
const podSubnet = "10.244.0.0/24"

// network configures the pod network: links to the node, which routes between pods and masquerades outgoing traffic.
func (c Cluster) network(ctx context.Context) error {
	content, err := conflist(podSubnet)
	if err != nil {
		return err
	}
	return c.Docker.Feed(ctx, bytes.NewReader(content), "exec", "--interactive", c.Node(),
		"bash", "-ec", "mkdir -p /etc/cni/net.d; cat > /etc/cni/net.d/10-ptp.conflist")
}

// conflist returns the configuration of the network plugins.
func conflist(subnet string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"cniVersion": "1.0.0",
		"name":       "ptp",
		"plugins": []any{
			map[string]any{
				"type": "ptp", "ipMasq": true, "mtu": 1500,
				"ipam": map[string]any{
					"type": "host-local", "dataDir": "/run/cni-ipam-state",
					"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
					"ranges": []any{[]any{map[string]any{"subnet": subnet}}},
				},
			},
			map[string]any{"type": "portmap", "capabilities": map[string]any{"portMappings": true}},
		},
	})
}
