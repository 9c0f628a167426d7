// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import "fmt"

// PodNetwork returns the configuration of the network plugins of a node: links to the node, which routes between the pods of a subnet and
// masquerades outgoing traffic.
func PodNetwork(subnet string) string {
	return fmt.Sprintf(`{"cniVersion":"1.0.0","name":"ptp","plugins":[
{"type":"ptp","ipMasq":true,"mtu":1500,"ipam":{"type":"host-local","dataDir":"/run/cni-ipam-state",
"routes":[{"dst":"0.0.0.0/0"}],"ranges":[[{"subnet":%q}]]}},
{"type":"portmap","capabilities":{"portMappings":true}}]}
`, subnet)
}
