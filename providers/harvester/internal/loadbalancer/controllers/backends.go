// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
)

// backend is a running virtual machine that a load balancer selects.
type backend struct {
	name string
	uid  types.UID
	// ipv4 and ipv6 are its addresses; they are invalid if it has none.
	ipv4, ipv6 netip.Addr
}

// address returns the address of a family.
func (b backend) address(family discoveryv1.AddressType) netip.Addr {
	if family == discoveryv1.AddressTypeIPv6 {
		return b.ipv6
	}
	return b.ipv4
}

// backendsOf returns the instances behind the load balancer, by name. They may have no address yet. Clones of Cluster API machines are
// excluded: they have the same labels, but are not members of the cluster.
func backendsOf(lb *lbv1.LoadBalancer, instances []*kubevirtv1.VirtualMachineInstance) []backend {
	var all []backend
	for _, vmi := range instances {
		if !selects(lb.Spec.BackendServerSelector, vmi.Labels) || !vmi.DeletionTimestamp.IsZero() || vmi.IsFinal() || virtualmachine.Copied(vmi) {
			continue
		}
		all = append(all, backend{
			name: vmi.Name, uid: vmi.UID,
			ipv4: addressOf(vmi.Status.Interfaces, netip.Addr.Is4), ipv6: addressOf(vmi.Status.Interfaces, isIPv6),
		})
	}
	slices.SortFunc(all, func(a, b backend) int { return cmp.Compare(a.name, b.name) })
	return all
}

// selects reports whether each label of the selector has one of its values. An empty selector selects nothing.
func selects(selector map[string][]string, labels map[string]string) bool {
	for key, values := range selector {
		if value, has := labels[key]; !has || !slices.Contains(values, value) {
			return false
		}
	}
	return len(selector) > 0
}

// addressOf returns the first reachable address of a family. Interfaces of the virtual machine precede those that only the guest reports,
// which may belong to container networks.
func addressOf(interfaces []kubevirtv1.VirtualMachineInstanceNetworkInterface, family func(netip.Addr) bool) netip.Addr {
	var fallback netip.Addr
	for _, nic := range interfaces {
		for _, text := range append([]string{nic.IP}, nic.IPs...) {
			address, ok := parse(text)
			switch {
			case !ok || !family(address):
			case nic.Name != "":
				return address
			case !fallback.IsValid():
				fallback = address
			}
		}
	}
	return fallback
}

// parse parses an address of a machine, with or without a prefix length. It returns false for an address that is not reachable.
func parse(text string) (netip.Addr, bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "/")
	address, ok := ipaddr.Parse(text)
	return address, ok && address.IsGlobalUnicast()
}

func isIPv6(address netip.Addr) bool { return address.Is6() }
