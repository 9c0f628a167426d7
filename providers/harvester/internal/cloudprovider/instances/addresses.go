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

// additionalAnnotation on a Node lists, as JSON, addresses of its interface that are not set in its status.
const additionalAnnotation = "cloudprovider.harvesterhci.io/additional-internal-ips"

// AddressOptions define which addresses of a virtual machine are set in the status of its Node.
type AddressOptions struct {
	// Network is the network in which Nodes reach each other, as namespace/name; "" for the first network of each virtual machine.
	Network string
	// Internal has the prefixes of internal addresses, one per family. If it is empty, the first address of each family is internal.
	Internal []netip.Prefix
	// Excluded has the prefixes of addresses that are not external addresses. It is used only if Internal is set.
	Excluded []netip.Prefix
	// IgnoreProvided ignores the address that kubelet provides and the addresses that annotations of the Node exclude.
	IgnoreProvided bool
}

// Of returns the addresses of a Node. If the guest reports none, it is an error for a Node without addresses. A Node that has addresses
// keeps them: Of returns none. If that Node is not initialized yet, because kubelet set its address by --node-ip, Of returns its own
// addresses, since the framework requires the address provided by kubelet to be among them.
func (o AddressOptions) Of(node *corev1.Node, vmi *kubevirtv1.VirtualMachineInstance, balanced func(string) bool) ([]corev1.NodeAddress, error) {
	reported := slices.DeleteFunc(o.reported(vmi), func(a netip.Addr) bool { return balanced(a.String()) })
	if len(reported) == 0 {
		switch {
		case hasInternal(node) && needsInitialization(node):
			return slices.Clone(node.Status.Addresses), nil
		case hasInternal(node):
			return nil, nil
		}
		return nil, fmt.Errorf("virtual machine %s has not reported an address of %s: install the QEMU guest agent in its image, or set its address "+
			"with kubelet's flag --node-ip", vmi.Name, o.networkName())
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

// rule returns which addresses may be internal and which others may be external: as kubelet provides them, else as the options define
// them.
func (o AddressOptions) rule(node *corev1.Node) (internal, shown func(netip.Addr) bool) {
	provided, given := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
	hidden := additional(node)
	if o.IgnoreProvided {
		given, hidden = false, nil
	}
	unlisted := func(a netip.Addr) bool { return !slices.Contains(hidden, a.String()) }
	switch {
	case given:
		list := strings.Split(provided, ",") // one per family
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

// additional returns the addresses in the annotation, or none if it is malformed.
func additional(node *corev1.Node) []string {
	var list []string
	if json.Unmarshal([]byte(node.Annotations[additionalAnnotation]), &list) != nil {
		return nil
	}
	return list
}

// reported returns the addresses of the interface in the network, in order.
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

// qualified returns the name of a network with its namespace, which defaults to that of the virtual machine.
func qualified(namespace, network string) string {
	if slices.Contains([]byte(network), '/') {
		return network
	}
	return namespace + "/" + network
}

func hasInternal(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
}
