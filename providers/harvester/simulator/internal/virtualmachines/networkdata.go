// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// networkConfig holds the parsed fields of cloud-init's network configuration, of version 1 or 2.
type networkConfig struct {
	Network   *networkConfig              `json:"network,omitempty"`
	Config    []interfaceConfig           `json:"config,omitempty"`
	Ethernets map[string]ethernetSettings `json:"ethernets,omitempty"`
}

type interfaceConfig struct {
	Type    string `json:"type"`
	MAC     string `json:"mac_address,omitempty"`
	Subnets []struct {
		Type    string `json:"type"`
		Address string `json:"address,omitempty"`
	} `json:"subnets,omitempty"`
}

type ethernetSettings struct {
	Match struct {
		MAC string `json:"macaddress,omitempty"`
	} `json:"match"`
	Addresses []string `json:"addresses,omitempty"`
}

// guestInterface is an interface configured by cloud-init, identified by its MAC address, else by its position.
type guestInterface struct {
	mac       string
	addresses []string
}

type guestInterfaces []guestInterface

// addressesOf returns the static addresses of an interface; none if it uses DHCP.
func (g guestInterfaces) addressesOf(mac string, index int) []string {
	for _, each := range g {
		if each.mac != "" && strings.EqualFold(each.mac, mac) {
			return each.addresses
		}
	}
	if index < len(g) && g[index].mac == "" {
		return g[index].addresses
	}
	return nil
}

// staticAddresses parses the static addresses in network data.
func staticAddresses(data []byte) (guestInterfaces, error) {
	config := networkConfig{}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return nil, err
	}
	if config.Network != nil {
		config = *config.Network
	}
	var out guestInterfaces
	for _, each := range config.Config {
		if each.Type != "physical" {
			continue
		}
		nic := guestInterface{mac: each.MAC}
		for _, subnet := range each.Subnets {
			if subnet.Address != "" {
				nic.addresses = append(nic.addresses, subnet.Address)
			}
		}
		out = append(out, nic)
	}
	for _, name := range slices.Sorted(maps.Keys(config.Ethernets)) {
		out = append(out, guestInterface{mac: config.Ethernets[name].Match.MAC, addresses: config.Ethernets[name].Addresses})
	}
	for i := range out {
		for j, address := range out[i].addresses {
			bare, _, _ := strings.Cut(address, "/")
			if _, err := netip.ParseAddr(bare); err != nil {
				return nil, fmt.Errorf("address %q: %w", address, err)
			}
			out[i].addresses[j] = bare
		}
	}
	return out, nil
}
