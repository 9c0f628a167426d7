// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// NIC returns the interface that all Nodes have in a network: an address of that network can be announced by each of them there. It is "" as long
// as no guest has said what its interfaces are called.
func (i *Instances) NIC(ctx context.Context, network string) (string, error) {
	nodes, err := i.nodes.List(labels.Everything())
	if err != nil {
		return "", err
	}
	found, of := "", ""
	for _, node := range nodes {
		vm, err := i.find(ctx, node)
		if err != nil {
			return "", err
		}
		if vm == nil {
			continue
		}
		vmi, err := i.harvester.Instance(ctx, vm.Name)
		if err != nil {
			return "", err
		}
		if vmi == nil || !connected(vmi) {
			continue
		}
		name := nicIn(vmi, network)
		switch {
		case name == "":
			return "", fmt.Errorf("no interface of Node %s is in network %s: connect its virtual machine to it", node.Name, network)
		case found != "" && name != found:
			return "", fmt.Errorf("the interface in network %s is called %s on Node %s and %s on Node %s: it must be the same on all", network, found, of, name, node.Name)
		}
		found, of = name, node.Name
	}
	return found, nil
}

// nicIn is what the guest calls its interface in a network; "" when it has none.
func nicIn(vmi *kubevirtv1.VirtualMachineInstance, network string) string {
	for _, n := range vmi.Spec.Networks {
		if n.Multus == nil || qualified(vmi.Namespace, n.Multus.NetworkName) != network {
			continue
		}
		for _, nic := range vmi.Status.Interfaces {
			if nic.Name == n.Name {
				return nic.InterfaceName
			}
		}
	}
	return ""
}
