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
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// found is what a Harvester has.
type found struct {
	nodes   corev1.NodeList
	claims  corev1.PersistentVolumeClaimList
	secrets corev1.SecretList // of machines
	vmis    kubevirtv1.VirtualMachineInstanceList
	vms     kubevirtv1.VirtualMachineList
}

func read(ctx context.Context, c client.Reader) (*found, error) {
	f := &found{}
	return f, errors.Join(c.List(ctx, &f.nodes), c.List(ctx, &f.claims), c.List(ctx, &f.secrets, client.HasLabels{infrav1.MachineIDLabel}),
		c.List(ctx, &f.vmis), c.List(ctx, &f.vms))
}

// placement is where a virtual machine is: its zone is the label of the host that its instance runs on.
func (f *found) placement(vm *kubevirtv1.VirtualMachine) provider.Placement {
	is := provider.Placement{Name: vm.Name}
	for i := range f.vmis.Items {
		vmi := &f.vmis.Items[i]
		if vmi.Namespace != vm.Namespace || vmi.Name != vm.Name || vmi.Status.NodeName == "" {
			continue
		}
		is.Host = vmi.Status.NodeName
		if at := slices.IndexFunc(f.nodes.Items, func(n corev1.Node) bool { return n.Name == is.Host }); at >= 0 {
			is.Domain = f.nodes.Items[at].Labels[corev1.LabelTopologyZone]
			// KubeVirt calls one Running whose host has no power.
			is.Running = vmi.Status.Phase == kubevirtv1.Running && ready(&f.nodes.Items[at])
		}
	}
	return is
}

func ready(host *corev1.Node) bool {
	return slices.ContainsFunc(host.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
