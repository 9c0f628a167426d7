// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

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

// backend is a virtual machine that a load balancer selects and that runs.
type backend struct {
	name string
	uid  types.UID
	// ipv4 and ipv6 are its addresses, invalid where it has none.
	ipv4, ipv6 netip.Addr
}

// address is the one of a family.
func (b backend) address(family discoveryv1.AddressType) netip.Addr {
	if family == discoveryv1.AddressTypeIPv6 {
		return b.ipv6
	}
	return b.ipv4
}

// backendsOf are those of the instances that the load balancer leads to, by name. They need not have an address yet. A clone of a machine of Cluster
// API has its labels, but is no member of the cluster.
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

// addressOf is the first address of a family that others can reach. The interfaces of the virtual machine itself come before those that
// only its guest knows of, which may be networks of containers.
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

// parse reads an address of a machine, which may come with the length of its prefix. It is false for one that others cannot reach.
func parse(text string) (netip.Addr, bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "/")
	address, ok := ipaddr.Parse(text)
	return address, ok && address.IsGlobalUnicast()
}

func isIPv6(address netip.Addr) bool { return address.Is6() }
