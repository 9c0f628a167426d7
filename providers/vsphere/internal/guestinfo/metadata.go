// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guestinfo

import (
	"encoding/base64"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/text"
)

// metadata is the format of cloud-init's VMware datasource:
// https://cloudinit.readthedocs.io/en/latest/reference/datasources/vmware.html.
type metadata struct {
	InstanceID    string        `json:"instance-id"`
	LocalHostname string        `json:"local-hostname"`
	WaitOnNetwork waitOnNetwork `json:"wait-on-network"`
	Network       netplan       `json:"network"`
}

type waitOnNetwork struct {
	IPv4 bool `json:"ipv4"`
	IPv6 bool `json:"ipv6"`
}

// netplan is version 2 of https://netplan.readthedocs.io/en/stable/netplan-yaml/.
type netplan struct {
	Version   int                 `json:"version"`
	Ethernets map[string]ethernet `json:"ethernets"`
}

type ethernet struct {
	Match          match          `json:"match"`
	SetName        string         `json:"set-name"`
	WakeOnLAN      bool           `json:"wakeonlan"`
	DHCP4          bool           `json:"dhcp4"`
	DHCP6          bool           `json:"dhcp6"`
	AcceptRA       bool           `json:"accept-ra"`
	DHCP4Overrides *dhcpOverrides `json:"dhcp4-overrides,omitempty"`
	DHCP6Overrides *dhcpOverrides `json:"dhcp6-overrides,omitempty"`
	Addresses      []string       `json:"addresses,omitempty"`
	Gateway4       string         `json:"gateway4,omitempty"`
	Gateway6       string         `json:"gateway6,omitempty"`
	MTU            *int64         `json:"mtu,omitempty"`
	Routes         []route        `json:"routes,omitempty"`
	Nameservers    *nameservers   `json:"nameservers,omitempty"`
}

type match struct {
	MACAddress string `json:"macaddress"`
}

type dhcpOverrides struct {
	Hostname     *string `json:"hostname,omitempty"`
	RouteMetric  *int32  `json:"route-metric,omitempty"`
	SendHostname *bool   `json:"send-hostname,omitempty"`
	UseDNS       *bool   `json:"use-dns,omitempty"`
	UseDomains   *string `json:"use-domains,omitempty"`
	UseHostname  *bool   `json:"use-hostname,omitempty"`
	UseMTU       *bool   `json:"use-mtu,omitempty"`
	UseNTP       *bool   `json:"use-ntp,omitempty"`
	UseRoutes    *string `json:"use-routes,omitempty"`
}

type route struct {
	To     string `json:"to"`
	Via    string `json:"via"`
	Metric *int32 `json:"metric,omitempty"`
}

type nameservers struct {
	Addresses []string `json:"addresses,omitempty"`
	Search    []string `json:"search,omitempty"`
}

// Metadata returns the extra configuration with the guest's name and network. macs are the addresses of the virtual machine's
// cards in the order of the network's devices; there must be one for each. Additional cards, added by the user, only get a name
// and the routes of the machine, as in upstream.
func Metadata(hostname string, network infrav1.NetworkSpec, macs []string) (map[string]string, error) {
	if len(macs) < len(network.Devices) {
		return nil, fmt.Errorf("virtual machine has %d network cards, but spec.network.devices has %d", len(macs), len(network.Devices))
	}
	content := metadata{
		InstanceID: hostname, LocalHostname: hostname,
		Network: netplan{Version: 2, Ethernets: map[string]ethernet{}},
	}
	devices := append(slices.Clone(network.Devices), make([]infrav1.NetworkDeviceSpec, len(macs)-len(network.Devices))...)
	for i := range devices {
		card := describe(&devices[i], i, macs[i])
		// netplan has routes per card only, so every card gets those of the machine.
		card.Routes = append(card.Routes, routes(network.Routes)...)
		content.Network.Ethernets[fmt.Sprintf("id%d", i)] = card
		content.WaitOnNetwork.IPv4 = content.WaitOnNetwork.IPv4 || card.DHCP4
		content.WaitOnNetwork.IPv6 = content.WaitOnNetwork.IPv6 || card.DHCP6
	}
	data, err := text.YAML(content)
	if err != nil {
		return nil, fmt.Errorf("writing metadata of %s: %w", hostname, err)
	}
	return map[string]string{
		MetadataKey:         base64.StdEncoding.EncodeToString(data),
		MetadataEncodingKey: encoding,
	}, nil
}

// describe sets for every card whether it accepts IPv6 router advertisements: with DHCPv6 it does, because DHCPv6 has no
// routes. By default, a guest would also assign an unwanted address to a card without DHCPv6.
func describe(device *infrav1.NetworkDeviceSpec, index int, mac string) ethernet {
	dhcp6 := ptr.Deref(device.DHCP6, false)
	name := device.DeviceName
	if name == "" {
		name = fmt.Sprintf("eth%d", index)
	}
	card := ethernet{
		Match: match{MACAddress: mac}, SetName: name, WakeOnLAN: true,
		DHCP4: ptr.Deref(device.DHCP4, false), DHCP6: dhcp6, AcceptRA: dhcp6,
		DHCP4Overrides: overrides(device.DHCP4Overrides), DHCP6Overrides: overrides(device.DHCP6Overrides),
		Addresses: device.IPAddrs, Gateway4: device.Gateway4, Gateway6: device.Gateway6,
		MTU: device.MTU, Routes: routes(device.Routes),
	}
	if len(device.Nameservers)+len(device.SearchDomains) > 0 {
		card.Nameservers = &nameservers{Addresses: device.Nameservers, Search: device.SearchDomains}
	}
	return card
}

func overrides(o *infrav1.DHCPOverrides) *dhcpOverrides {
	if o == nil {
		return nil
	}
	return &dhcpOverrides{
		Hostname: o.Hostname, RouteMetric: o.RouteMetric, SendHostname: o.SendHostname, UseDNS: o.UseDNS, UseDomains: o.UseDomains,
		UseHostname: o.UseHostname, UseMTU: o.UseMTU, UseNTP: o.UseNTP, UseRoutes: o.UseRoutes,
	}
}

func routes(specs []infrav1.NetworkRouteSpec) []route {
	if len(specs) == 0 {
		return nil
	}
	list := make([]route, len(specs))
	for i, spec := range specs {
		list[i] = route{To: spec.To, Via: spec.Via, Metric: spec.Metric}
	}
	return list
}
