// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ironic

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// getInventory returns the result of an inspection: the address of the node's port, and hardware that is the same for all nodes.
func (s *Server) getInventory(n *node, _ request) (answer, error) {
	if !n.inspected {
		return answer{}, refuse(http.StatusNotFound, "Inventory for node %s could not be found", n.text("uuid"))
	}
	sum := sha256.Sum256([]byte(n.text("name")))
	boot := fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3])
	if i := slices.IndexFunc(s.ports, func(p port) bool { return p.NodeUUID == n.text("uuid") }); i >= 0 {
		boot = s.ports[i].Address
	}
	_, host, _ := strings.Cut(n.text("name"), "~")
	return answer{http.StatusOK, document{"plugin_data": document{}, "inventory": document{
		"hostname": host, "bmc_address": "192.0.2.1", "boot": document{"current_boot_mode": "uefi", "pxe_interface": boot},
		"cpu":    document{"architecture": "x86_64", "count": 32, "frequency": "2600", "model_name": "Simulated", "flags": []string{"vmx"}},
		"memory": document{"physical_mb": 262144, "total": 262144 << 20},
		"disks":  []document{{"name": "/dev/sda", "size": 480103981056, "rotational": false, "model": "Disk", "serial": host}},
		"interfaces": []document{{
			"name": "eth0", "mac_address": boot, "has_carrier": true, "speed_mbps": 25000,
			"ipv4_address": fmt.Sprintf("10.%d.%d.%d", sum[4], sum[5], 1+sum[6]%250),
		}},
		"system_vendor": document{"manufacturer": "Example", "product_name": "Server", "serial_number": host},
	}}}, nil
}
