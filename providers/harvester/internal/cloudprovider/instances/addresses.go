// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

// additionalAnnotation on a Node lists, as JSON, addresses of its interface that it is not told of.
const additionalAnnotation = "cloudprovider.harvesterhci.io/additional-internal-ips"

// AddressOptions say which of the addresses of a virtual machine are the Node's.
type AddressOptions struct {
	// Network is the one that the Nodes reach one another by, as namespace/name; "" for the first of each virtual machine.
	Network string
	// Internal is what internal addresses are in, one of each family; without one they are the first of each family.
	Internal []netip.Prefix
	// Excluded is what external addresses are not in, where Internal is given.
	Excluded []netip.Prefix
	// IgnoreProvided disregards what kubelet says its address is, and what annotations of the Node leave out.
	IgnoreProvided bool
}

// Of returns the addresses of a Node. A Node that has none yet must have one: it is an error when its guest has not told any. A
// Node that has some keeps them in that case, so none are returned; of one that is not initialized yet, which kubelet has told its address by
// --node-ip, its own are: the framework wants the one that kubelet provides to be among those that are returned.
func (o AddressOptions) Of(node *corev1.Node, vmi *kubevirtv1.VirtualMachineInstance, balanced func(string) bool) ([]corev1.NodeAddress, error) {
	reported := slices.DeleteFunc(o.reported(vmi), func(a netip.Addr) bool { return balanced(a.String()) })
	if len(reported) == 0 {
		switch {
		case hasInternal(node) && waits(node):
			return slices.Clone(node.Status.Addresses), nil
		case hasInternal(node):
			return nil, nil
		}
		return nil, fmt.Errorf("the guest of virtual machine %s has told no address of %s: install the QEMU guest agent in its image, or give kubelet "+
			"its address by --node-ip", vmi.Name, o.networkName())
	}
	var list []corev1.NodeAddress
	given := map[bool]bool{} // by family
	internal, shown := o.rule(node)
	for _, addr := range reported {
		switch {
		case !given[addr.Is4()] && internal(addr):
			given[addr.Is4()] = true
			list = append(list, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: addr.String()})
		case shown(addr):
			list = append(list, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: addr.String()})
		}
	}
	return append(list, corev1.NodeAddress{Type: corev1.NodeHostName, Address: node.Name}), nil
}

func (o AddressOptions) networkName() string {
	if o.Network != "" {
		return "network " + o.Network
	}
	return "its first network"
}

// rule says which addresses may be internal, and which others are shown: what kubelet says is right, else what the options say.
func (o AddressOptions) rule(node *corev1.Node) (internal, shown func(netip.Addr) bool) {
	provided, given := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
	hidden := additional(node)
	if o.IgnoreProvided {
		given, hidden = false, nil
	}
	unlisted := func(a netip.Addr) bool { return !slices.Contains(hidden, a.String()) }
	switch {
	case given:
		list := strings.Split(provided, ",") // one of each family
		return func(a netip.Addr) bool { return slices.Contains(list, a.String()) }, unlisted
	case len(o.Internal) > 0:
		return func(a netip.Addr) bool { return within(o.Internal, a) }, func(a netip.Addr) bool { return !within(o.Excluded, a) }
	default:
		return func(netip.Addr) bool { return true }, unlisted
	}
}

func within(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// additional is what the annotation lists; a malformed one lists nothing.
func additional(node *corev1.Node) []string {
	var list []string
	if json.Unmarshal([]byte(node.Annotations[additionalAnnotation]), &list) != nil {
		return nil
	}
	return list
}

// reported are the addresses of the interface in the network, in their order.
func (o AddressOptions) reported(vmi *kubevirtv1.VirtualMachineInstance) []netip.Addr {
	at := slices.IndexFunc(vmi.Spec.Networks, func(n kubevirtv1.Network) bool {
		return n.Multus != nil && (o.Network == "" || qualified(vmi.Namespace, n.Multus.NetworkName) == o.Network)
	})
	if at < 0 {
		return nil
	}
	var list []netip.Addr
	for _, nic := range vmi.Status.Interfaces {
		if nic.Name != vmi.Spec.Networks[at].Name {
			continue
		}
		for _, text := range append(slices.Clone(nic.IPs), nic.IP) {
			addr, ok := ipaddr.Parse(text)
			if ok && addr.IsGlobalUnicast() && !slices.Contains(list, addr) {
				list = append(list, addr)
			}
		}
	}
	return list
}

// qualified is the name of a network with its namespace, which is that of the virtual machine where it is not said.
func qualified(namespace, network string) string {
	if slices.Contains([]byte(network), '/') {
		return network
	}
	return namespace + "/" + network
}

func hasInternal(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
}
