// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"net/netip"
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// maxListed is how many entries the API takes in a list of the status. One more and it would refuse the whole of it.
const maxListed = 128

// NetworkStatus tells of the cards, with those of their addresses that other machines can reach, as upstream does.
func NetworkStatus(cards []vcenter.GuestNIC) []infrav1.NetworkStatus {
	statuses := make([]infrav1.NetworkStatus, 0, len(cards))
	for _, card := range cards {
		if card.MAC == "" || len(statuses) == maxListed {
			continue
		}
		ips := slices.DeleteFunc(slices.Clone(card.IPs), func(ip string) bool { return !reachable(ip) })
		statuses = append(statuses, infrav1.NetworkStatus{
			Connected: ptr.To(card.Connected), IPAddrs: ips[:min(len(ips), maxListed)], MACAddr: card.MAC, NetworkName: card.Network,
		})
	}
	return statuses
}

// Addresses lists what other machines can reach the guest at.
func Addresses(cards []vcenter.GuestNIC) []string {
	var list []string
	for _, card := range cards {
		for _, ip := range card.IPs {
			if reachable(ip) && len(list) < maxListed {
				list = append(list, ip)
			}
		}
	}
	return list
}

// reachable reports whether others can reach a guest at an address, and the API takes the form it is in.
func reachable(ip string) bool {
	address, err := netip.ParseAddr(ip)
	address = address.Unmap()
	return err == nil && address.Zone() == "" && len(ip) <= len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff") &&
		!address.IsUnspecified() && !address.IsLinkLocalUnicast() && !address.IsLoopback() && !address.IsMulticast()
}

// MACs are those of the cards.
func MACs(nics []vcenter.NIC) []string {
	addresses := make([]string, len(nics))
	for i := range nics {
		addresses[i] = nics[i].MAC
	}
	return addresses
}
