// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"net"
	"slices"
)

// NewSeveral runs equal Servers. The options may have the address of the first; the others listen on free ports of its host. On an error none
// is left running.
func NewSeveral(number int, layout Layout, opts ...Option) ([]*Server, error) {
	host, _, err := net.SplitHostPort(newOptions(opts).listen)
	if err != nil {
		return nil, fmt.Errorf("starting the vCenter simulator: %w", err)
	}
	var servers []*Server
	for range number {
		server, err := New(layout, opts...)
		if err != nil {
			CloseAll(servers)
			return nil, fmt.Errorf("starting the vCenter simulator: %w", err)
		}
		servers = append(servers, server)
		opts = append(slices.Clip(opts), WithListen(net.JoinHostPort(host, "0")))
	}
	return servers, nil
}

// CloseAll closes Servers.
func CloseAll(servers []*Server) {
	for _, server := range servers {
		server.Close()
	}
}

// TemplateVariables returns the variables of cluster templates for a datacenter in each of some vCenters with the same account.
func TemplateVariables(datacenter string, vcenters ...*Server) map[string]string {
	first := vcenters[0]
	variables := map[string]string{
		"VSPHERE_USERNAME":       first.Username(),
		"VSPHERE_PASSWORD":       first.Password(),
		"VSPHERE_DATACENTER":     datacenter,
		"VSPHERE_FOLDER":         "workload",
		"VSPHERE_NETWORK":        NetworkName,
		"VSPHERE_TEMPLATE":       TemplateName,
		"VSPHERE_REGION":         RegionTag,
		"VSPHERE_ZONE_A_NETWORK": "network-a",
		"VSPHERE_ZONE_B_NETWORK": "network-b",
		"VSPHERE_ZONE_C_NETWORK": "network-c",
	}
	for i, vcenter := range vcenters {
		suffix := ""
		if i > 0 {
			suffix = fmt.Sprintf("_%d", i+1)
		}
		variables["VSPHERE_SERVER"+suffix], variables["VSPHERE_TLS_THUMBPRINT"+suffix] = vcenter.Host(), vcenter.Thumbprint()
	}
	return variables
}
