// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"strings"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/text"
)

// defaultMask is the subnet mask of a static address without one.
const defaultMask = "255.255.0.0"

// Static is the static address of a machine on its first network.
type Static struct {
	// Address includes the length of the subnet's prefix.
	Address    netip.Prefix
	Gateway    netip.Addr
	DNSServers []string
	DNSSearch  []string
}

// StaticFromSpec parses the address in the machine's spec. An address without a prefix length gets the mask of the network configuration.
func StaticFromSpec(config *infrav1.NetworkConfig, network *infrav1.VMNetworkConfig) (*Static, error) {
	static := &Static{DNSServers: config.DNSServers, DNSSearch: config.DNSSearch}
	var err error
	if static.Address, err = netip.ParsePrefix(config.Address); err != nil {
		mask := defaultMask
		if network != nil {
			mask = network.SubnetMask
		}
		if static.Address, err = parseAddress("networkConfig.address", config.Address, mask); err != nil {
			return nil, err
		}
	}
	static.Gateway, err = parseGateway("networkConfig.gateway", config.Gateway)
	return static, err
}

// StaticFromPool completes an address from a pool. The configuration takes precedence over the pool's mask and gateway.
func StaticFromPool(address netip.Addr, subnet netip.Prefix, poolGateway netip.Addr, network *infrav1.VMNetworkConfig) (*Static, error) {
	static := &Static{DNSServers: network.DNSServers, DNSSearch: network.DNSSearch, Gateway: poolGateway}
	var err error
	if subnet.IsValid() && (network.SubnetMask == "" || address.Is6()) { // a mask applies to IPv4 only
		static.Address = netip.PrefixFrom(address, subnet.Bits())
	} else if static.Address, err = parseAddress("vmNetworkConfig", address.String(), network.SubnetMask); err != nil {
		return nil, err
	}
	if network.Gateway != "" {
		static.Gateway, err = parseGateway("vmNetworkConfig.gateway", network.Gateway)
	}
	return static, err
}

func parseAddress(field, address, mask string) (netip.Prefix, error) {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%s: %q must be an IP address", field, address)
	}
	dotted := net.ParseIP(mask).To4()
	if dotted == nil {
		return netip.Prefix{}, fmt.Errorf("subnetMask %q must be a subnet mask, for example 255.255.255.0", mask)
	}
	ones, bits := net.IPMask(dotted).Size()
	if bits == 0 {
		return netip.Prefix{}, fmt.Errorf("subnetMask %q must be a subnet mask, for example 255.255.255.0", mask)
	}
	if addr.Is6() {
		return netip.Prefix{}, fmt.Errorf("%s: IPv6 address %s must have a prefix length, for example %s/64", field, address, address)
	}
	return netip.PrefixFrom(addr, ones), nil
}

func parseGateway(field, given string) (netip.Addr, error) {
	if given == "" {
		return netip.Addr{}, nil
	}
	addr, err := netip.ParseAddr(given)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%s %q must be an IP address", field, given)
	}
	return addr, nil
}

// networkConfig is cloud-init's network configuration, version 1, which all versions of cloud-init and Talos support.
type networkConfig struct {
	Version int     `json:"version"`
	Config  []entry `json:"config"`
}

type entry struct {
	Type    string   `json:"type"`
	Name    string   `json:"name,omitempty"`
	MAC     string   `json:"mac_address,omitempty"`
	Subnets []subnet `json:"subnets,omitempty"`
	Address []string `json:"address,omitempty"`
	Search  []string `json:"search,omitempty"`
}

type subnet struct {
	Type    string `json:"type"`
	Address string `json:"address,omitempty"`
	Gateway string `json:"gateway,omitempty"`
}

// networkData configures the interfaces by MAC address, because images name them differently. It returns nil for DHCP on a single
// interface, which is cloud-init's default.
func networkData(static *Static, macs []string) ([]byte, error) {
	if len(macs) == 0 || static == nil && len(macs) == 1 {
		return nil, nil
	}
	config := networkConfig{Version: 1}
	for i, mac := range macs {
		on := subnet{Type: "dhcp"}
		if i == 0 && static != nil {
			on = static.subnet()
		}
		config.Config = append(config.Config, entry{Type: "physical", Name: fmt.Sprintf("eth%d", i), MAC: mac, Subnets: []subnet{on}})
	}
	if static != nil && len(static.DNSServers)+len(static.DNSSearch) > 0 {
		config.Config = append(config.Config, entry{Type: "nameserver", Address: static.DNSServers, Search: static.DNSSearch})
	}
	data, err := text.YAML(config)
	if err != nil {
		return nil, fmt.Errorf("writing network data: %w", err)
	}
	return data, nil
}

func (s *Static) subnet() subnet {
	on := subnet{Type: "static", Address: s.Address.String()}
	if s.Address.Addr().Is6() {
		on.Type = "static6"
	}
	if s.Gateway.IsValid() {
		on.Gateway = s.Gateway.String()
	}
	return on
}

// macs returns the MAC addresses of a machine's interfaces, which derive from its id.
func macs(machineID string, n int) []string {
	list := make([]string, n)
	for i := range list {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", machineID, i))
		list[i] = strings.ToLower(net.HardwareAddr{0x02, sum[0], sum[1], sum[2], sum[3], sum[4]}.String()) // locally administered
	}
	return list
}
