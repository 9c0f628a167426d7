// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

// Objects holds the objects of a Harvester.
type Objects struct {
	Nodes  corev1.NodeList
	Claims corev1.PersistentVolumeClaimList
	VMIs   kubevirtv1.VirtualMachineInstanceList
	VMs    kubevirtv1.VirtualMachineList
}

// ListObjects reads all of them.
func ListObjects(ctx context.Context, c client.Reader) (*Objects, error) {
	f := &Objects{}
	return f, errors.Join(c.List(ctx, &f.Nodes), c.List(ctx, &f.Claims), c.List(ctx, &f.VMIs), c.List(ctx, &f.VMs))
}

// Placement returns the placement of a virtual machine: its zone is a label of the host that its instance runs on.
func (f *Objects) Placement(vm *kubevirtv1.VirtualMachine) provider.Placement {
	is := provider.Placement{Name: vm.Name}
	for i := range f.VMIs.Items {
		vmi := &f.VMIs.Items[i]
		if vmi.Namespace != vm.Namespace || vmi.Name != vm.Name || vmi.Status.NodeName == "" {
			continue
		}
		is.Host = vmi.Status.NodeName
		if at := slices.IndexFunc(f.Nodes.Items, func(n corev1.Node) bool { return n.Name == is.Host }); at >= 0 {
			is.Domain = f.Nodes.Items[at].Labels[corev1.LabelTopologyZone]
			// KubeVirt reports an instance as Running even if its host has no power.
			is.Running = vmi.Status.Phase == kubevirtv1.Running && ready(&f.Nodes.Items[at])
		}
	}
	return is
}

func ready(host *corev1.Node) bool {
	return slices.ContainsFunc(host.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
