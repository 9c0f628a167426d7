// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"net/netip"

	"github.com/vmware/govmomi/vim25/types"
)

// guestReport is the report of the guest's tools.
type guestReport struct {
	running  bool
	hostname string
	cards    []nic
}

// nic is an interface of a guest, with its card if it has one.
type nic struct {
	Card
	network   string
	addresses []netip.Prefix
}

// guestState converts a report to changes of the VM's properties.
func guestState(r *guestReport) []types.PropertyChange {
	status, running := types.VirtualMachineToolsStatusToolsNotRunning, types.VirtualMachineToolsRunningStatusGuestToolsNotRunning
	guestState := types.VirtualMachineGuestStateNotRunning
	if r.running {
		status, running = types.VirtualMachineToolsStatusToolsOk, types.VirtualMachineToolsRunningStatusGuestToolsRunning
		guestState = types.VirtualMachineGuestStateRunning
	}
	address := r.primary()
	return []types.PropertyChange{
		{Name: "guest.toolsStatus", Val: status},
		{Name: "guest.toolsRunningStatus", Val: string(running)},
		{Name: "guest.guestState", Val: string(guestState)},
		{Name: "guest.hostName", Val: r.hostname},
		{Name: "guest.ipAddress", Val: address},
		{Name: "guest.net", Val: r.nics()},
		{Name: "summary.guest.toolsStatus", Val: status},
		{Name: "summary.guest.toolsRunningStatus", Val: string(running)},
		{Name: "summary.guest.hostName", Val: r.hostname},
		{Name: "summary.guest.ipAddress", Val: address},
	}
}

// primary returns the address that vCenter shows for the whole VM.
func (r *guestReport) primary() string {
	for _, card := range r.cards {
		for _, p := range card.addresses {
			if !p.Addr().IsLinkLocalUnicast() {
				return p.Addr().String()
			}
		}
	}
	return ""
}

func (r *guestReport) nics() []types.GuestNicInfo {
	nics := []types.GuestNicInfo{}
	if !r.running {
		return nics
	}
	for _, card := range r.cards {
		nic := types.GuestNicInfo{
			Network: card.network, MacAddress: card.MAC, Connected: true, DeviceConfigId: card.Key,
			IpConfig: &types.NetIpConfigInfo{},
		}
		for _, p := range card.addresses {
			nic.IpAddress = append(nic.IpAddress, p.Addr().String())
			nic.IpConfig.IpAddress = append(nic.IpConfig.IpAddress, ipConfig(p))
		}
		nics = append(nics, nic)
	}
	return nics
}

func ipConfig(p netip.Prefix) types.NetIpConfigInfoIpAddress {
	return types.NetIpConfigInfoIpAddress{
		IpAddress:    p.Addr().String(),
		PrefixLength: int32(p.Bits()),
		State:        string(types.NetIpConfigInfoIpAddressStatusPreferred),
	}
}
