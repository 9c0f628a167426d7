// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Harvester reads the virtual machines of one namespace and all hosts. Methods return an error while the informers have not synced, and
// nil without an error if an object does not exist.
type Harvester interface {
	VM(ctx context.Context, name string) (*kubevirtv1.VirtualMachine, error)
	VMs(ctx context.Context, by client.MatchingFields) ([]kubevirtv1.VirtualMachine, error)
	Instance(ctx context.Context, name string) (*kubevirtv1.VirtualMachineInstance, error)
	Instances(ctx context.Context, by client.MatchingFields) ([]kubevirtv1.VirtualMachineInstance, error)
	// Host returns Forbidden if the account may not read hosts.
	Host(ctx context.Context, name string) (*corev1.Node, error)
	// Hostname returns the hostname that the guest agent reports.
	Hostname(ctx context.Context, vmi string) (string, error)
	// IsDeleted reports whether no virtual machine with that name or that UID exists, according to Harvester's API server. Either may be
	// empty.
	IsDeleted(ctx context.Context, name string, uid types.UID) (bool, error)
}

// Instances implements cloudprovider.InstancesV2 for the Nodes of a guest cluster.
type Instances struct {
	harvester Harvester
	nodes     corelisters.NodeLister
	guests    *hostnames
	addresses AddressOptions
	// balanced reports whether an address belongs to a load balancer of the cluster: such addresses move between machines.
	balanced func(address string) bool
	// seen has the names of the Nodes whose virtual machines have been found.
	seen sync.Map
}

var _ cloudprovider.InstancesV2 = &Instances{}

// New returns Instances for all Nodes.
func New(h Harvester, nodes corelisters.NodeLister, o AddressOptions, balanced func(address string) bool) *Instances {
	return &Instances{harvester: h, nodes: nodes, guests: newHostnames(h), addresses: o, balanced: balanced}
}

// InstanceExists reports whether the virtual machine of the Node exists. The framework deletes the Node if it does not. A missing one is
// therefore confirmed with Harvester's API server, and reported only if it was found before or the virtual machine of another Node is
// found: with an account or namespace of another cluster, none is found.
func (i *Instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	vm, err := i.find(ctx, node)
	if err != nil {
		return false, err
	}
	if vm != nil {
		i.seen.Store(node.Name, true)
		return true, nil
	}
	name := node.Name
	if uidOf(node) != "" {
		name = ""
	}
	gone, err := i.harvester.IsDeleted(ctx, name, uidOf(node))
	if err != nil || !gone {
		return !gone, err
	}
	if _, seen := i.seen.Load(node.Name); seen {
		return false, nil
	}
	if known, err := i.findsOther(ctx, node); err != nil {
		return false, err
	} else if !known {
		return false, fmt.Errorf("the namespace of the kubeconfig for Harvester contains no virtual machine of any Node of this cluster, "+
			"so the one of Node %s may not be deleted: if they are in another namespace, set it in the context of the kubeconfig", node.Name)
	}
	return false, nil
}

// findsOther reports whether the virtual machine of any other Node is found.
func (i *Instances) findsOther(ctx context.Context, but *corev1.Node) (bool, error) {
	all, err := i.nodes.List(labels.Everything())
	if err != nil {
		return false, err
	}
	for _, node := range all {
		if node.Name == but.Name {
			continue
		}
		if vm, err := i.find(ctx, node); err != nil {
			return false, err
		} else if vm != nil {
			return true, nil
		}
	}
	return false, nil
}

// InstanceShutdown reports whether the virtual machine of the Node is off. One on an unreachable host may still run.
func (i *Instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	vm, err := i.find(ctx, node)
	if err != nil {
		return false, err
	}
	if vm == nil {
		return false, fmt.Errorf("reading the virtual machine of Node %s: %w", node.Name, cloudprovider.InstanceNotFound)
	}
	vmi, err := i.harvester.Instance(ctx, vm.Name)
	if err != nil {
		return false, err
	}
	return vmi == nil && !vm.Status.Created || vmi != nil && vmi.IsFinal(), nil
}

// InstanceMetadata returns the provider ID, zone, region and addresses of the Node.
func (i *Instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	vm, err := i.find(ctx, node)
	if err != nil {
		return nil, err
	}
	if vm == nil {
		return nil, fmt.Errorf("reading the virtual machine of Node %s: %w", node.Name, cloudprovider.InstanceNotFound)
	}
	vmi, err := i.harvester.Instance(ctx, vm.Name)
	if err != nil {
		return nil, err
	}
	if vmi == nil {
		return nil, fmt.Errorf("virtual machine %s of Node %s is not running", vm.Name, node.Name)
	}
	place, err := i.locate(ctx, vmi)
	if err != nil {
		return nil, err
	}
	addresses, err := i.addresses.Of(node, vmi, i.balanced)
	if err != nil {
		return nil, err
	}
	i.seen.Store(node.Name, true)
	return &cloudprovider.InstanceMetadata{
		ProviderID: ProviderID(vm), Zone: place.zone, Region: place.region, NodeAddresses: addresses,
	}, nil
}
