// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scheme is the prefix of provider IDs.
const scheme = "harvester://"

// Index fields of objects on Harvester.
const (
	UIDField      = "metadata.uid"
	HostnameField = "spec.hostname"
)

// UID returns the values of UIDField.
func UID(o client.Object) []string { return []string{string(o.GetUID())} }

// Hostname returns the values of HostnameField: the hostname that the guest is configured with.
func Hostname(o client.Object) []string {
	vmi, ok := o.(*kubevirtv1.VirtualMachineInstance)
	if !ok {
		return nil
	}
	return []string{cmp.Or(vmi.Spec.Hostname, vmi.Name)}
}

// ProviderID returns the provider ID of the Node of a virtual machine.
func ProviderID(vm *kubevirtv1.VirtualMachine) string { return scheme + string(vm.UID) }

// uidOf returns the UID of the virtual machine in the provider ID of the Node, or "".
func uidOf(node *corev1.Node) types.UID {
	uid, ours := strings.CutPrefix(node.Spec.ProviderID, scheme)
	if !ours {
		return ""
	}
	return types.UID(uid)
}

// find returns the virtual machine of the Node, or nil. If the Node has a provider ID, only the virtual machine with that UID matches:
// another one with the same name is another machine. If it has none, or one of another provider, the name of the Node must be the name of
// the virtual machine or its hostname.
func (i *Instances) find(ctx context.Context, node *corev1.Node) (*kubevirtv1.VirtualMachine, error) {
	if uid := uidOf(node); uid != "" {
		found, err := i.harvester.VMs(ctx, client.MatchingFields{UIDField: string(uid)})
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return &found[0], nil
	}
	vm, err := i.harvester.VM(ctx, node.Name)
	if err != nil || vm != nil {
		return vm, err
	}
	name, err := i.findByHostname(ctx, node.Name)
	if err != nil || name == "" {
		return nil, err
	}
	return i.harvester.VM(ctx, name)
}

// findByHostname returns the name of the virtual machine whose guest has this hostname, or "".
func (i *Instances) findByHostname(ctx context.Context, hostname string) (string, error) {
	told, err := i.harvester.Instances(ctx, client.MatchingFields{HostnameField: hostname})
	if err != nil {
		return "", err
	}
	if len(told) > 1 {
		return "", fmt.Errorf("virtual machines %s and %s have the same hostname %s: change one of them", told[0].Name, told[1].Name, hostname)
	}
	if len(told) == 1 {
		return told[0].Name, nil
	}
	return i.guests.find(ctx, hostname)
}
