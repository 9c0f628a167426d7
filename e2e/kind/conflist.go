// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"bytes"
	"context"
	"encoding/json"
)

// podSubnet is what kind gives the first node of a cluster. There is no other.
const podSubnet = "10.244.0.0/24"

// network gives the pods a network: links to the node, which routes between them
// and hides them from the outside.
func (c Cluster) network(ctx context.Context) error {
	content, err := conflist(podSubnet)
	if err != nil {
		return err
	}
	return c.Docker.Feed(ctx, bytes.NewReader(content), "exec", "--interactive", c.Node(),
		"bash", "-ec", "mkdir -p /etc/cni/net.d; cat > /etc/cni/net.d/10-ptp.conflist")
}

// conflist is the configuration of the network plugins.
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
