// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// controlPlaneLabel on a Node marks it as one of the control plane.
const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// NIC returns the name of the interface in a network on the Nodes that announce addresses: each of them can announce an address of that
// network. It returns "" while no guest has reported the names of its interfaces. network may omit the namespace of the virtual machines.
func (i *Instances) NIC(ctx context.Context, network string) (string, error) {
	nodes, err := i.nodes.List(labels.Everything())
	if err != nil {
		return "", err
	}
	found, of := "", ""
	for _, node := range announcing(nodes) {
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
		if vmi == nil {
			continue
		}
		name, there := nicIn(vmi, network)
		switch {
		case !there:
			return "", fmt.Errorf("Node %s has no interface in network %s: connect its virtual machine to it", node.Name, network)
		case name == "" || !connected(vmi):
			continue // not reported yet
		case found != "" && name != found:
			return "", fmt.Errorf("the interface in network %s is named %s on Node %s and %s on Node %s: it must have the same name on all Nodes", network, found, of, name, node.Name)
		}
		found, of = name, node.Name
	}
	return found, nil
}

// announcing returns the Nodes that announce addresses: those of the control plane, where kube-vip runs by default, or all Nodes of a
// cluster without control plane Nodes.
func announcing(nodes []*corev1.Node) []*corev1.Node {
	var list []*corev1.Node
	for _, node := range nodes {
		if _, there := node.Labels[controlPlaneLabel]; there {
			list = append(list, node)
		}
	}
	if len(list) == 0 {
		return nodes
	}
	return list
}

// nicIn returns the guest's name of its interface in a network, "" if it was not reported, and whether the guest has one.
func nicIn(vmi *kubevirtv1.VirtualMachineInstance, network string) (name string, there bool) {
	for _, n := range vmi.Spec.Networks {
		if n.Multus == nil || qualified(vmi.Namespace, n.Multus.NetworkName) != qualified(vmi.Namespace, network) {
			continue
		}
		for _, nic := range vmi.Status.Interfaces {
			if nic.Name == n.Name {
				return nic.InterfaceName, true
			}
		}
		return "", true
	}
	return "", false
}
