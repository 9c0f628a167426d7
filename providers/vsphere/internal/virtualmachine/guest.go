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

// maxListed is the maximum number of entries that the API accepts in a status list. It would reject the whole list if it had
// one more.
const maxListed = 128

// NetworkStatus returns the status of the cards with the addresses that other machines can reach, as upstream does.
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

// Addresses returns the addresses at which other machines can reach the guest.
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

// reachable reports whether other machines can reach a guest at an address and the API accepts its format.
func reachable(ip string) bool {
	address, err := netip.ParseAddr(ip)
	address = address.Unmap()
	return err == nil && address.Zone() == "" && len(ip) <= len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff") &&
		!address.IsUnspecified() && !address.IsLinkLocalUnicast() && !address.IsLoopback() && !address.IsMulticast()
}

// MACs returns the MAC addresses of the cards.
func MACs(nics []vcenter.NIC) []string {
	addresses := make([]string, len(nics))
	for i := range nics {
		addresses[i] = nics[i].MAC
	}
	return addresses
}
