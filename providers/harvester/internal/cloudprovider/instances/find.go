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

// scheme is that of provider IDs.
const scheme = "harvester://"

// Fields that objects on Harvester are found by.
const (
	UIDField      = "metadata.uid"
	HostnameField = "spec.hostname"
)

// UID is the value of UIDField.
func UID(o client.Object) []string { return []string{string(o.GetUID())} }

// Hostname is the value of HostnameField: what the guest is told to be called.
func Hostname(o client.Object) []string {
	vmi, ok := o.(*kubevirtv1.VirtualMachineInstance)
	if !ok {
		return nil
	}
	return []string{cmp.Or(vmi.Spec.Hostname, vmi.Name)}
}

// ProviderID is that of the Node that a virtual machine is.
func ProviderID(vm *kubevirtv1.VirtualMachine) string { return scheme + string(vm.UID) }

// uidOf is which virtual machine the Node says it is; "" when it does not say.
func uidOf(node *corev1.Node) types.UID {
	uid, ours := strings.CutPrefix(node.Spec.ProviderID, scheme)
	if !ours {
		return ""
	}
	return types.UID(uid)
}

// find returns the virtual machine that the Node is; nil when there is none. A Node that has a provider ID is that virtual machine and no other:
// one that has taken its name is another machine. One that has none, or that of somebody else's, is known by its name: that of
// the virtual machine, or the one that the guest has.
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
	name, err := i.called(ctx, node.Name)
	if err != nil || name == "" {
		return nil, err
	}
	return i.harvester.VM(ctx, name)
}

// called returns the name of the virtual machine whose guest has this hostname; "" when there is none.
func (i *Instances) called(ctx context.Context, hostname string) (string, error) {
	told, err := i.harvester.Instances(ctx, client.MatchingFields{HostnameField: hostname})
	if err != nil {
		return "", err
	}
	if len(told) > 1 {
		return "", fmt.Errorf("virtual machines %s and %s are both called %s inside: give one of them another hostname", told[0].Name, told[1].Name, hostname)
	}
	if len(told) == 1 {
		return told[0].Name, nil
	}
	return i.guests.called(ctx, hostname)
}
