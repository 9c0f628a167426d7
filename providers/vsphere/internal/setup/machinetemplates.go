// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/limits"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/controllers"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachinetemplates/status,verbs=patch

func addMachineTemplates(ctx context.Context, mgr ctrl.Manager, watchFilter string) error {
	if err := (&controllers.MachineTemplates[*infrav1.VSphereMachineTemplate]{
		Client: mgr.GetClient(), Empty: &infrav1.VSphereMachineTemplate{}, List: &infrav1.VSphereMachineTemplateList{}, Status: MachineTemplateStatus,
	}).SetupWithManager(ctx, mgr, watchFilter); err != nil {
		return fmt.Errorf("adding VSphereMachineTemplate controller: %w", err)
	}
	return nil
}

// MachineTemplateStatus returns the status of a template from its spec alone. The first disk has a known size only if the spec sets
// it, and a linked clone ignores that. ESXi that vCenter manages runs on amd64.
func MachineTemplateStatus(_ context.Context, template *infrav1.VSphereMachineTemplate) (faultlinev1.MachineTemplateStatus, error) {
	spec := template.Spec.Template.Spec
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(max(int64(spec.NumCPUs), limits.MinCPUs), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dMi", max(spec.MemoryMiB, limits.MinMemoryMiB))), // it does not overflow
	}
	if spec.DiskGiB > 0 && spec.CloneMode != infrav1.LinkedClone {
		capacity[corev1.ResourceEphemeralStorage] = resource.MustParse(fmt.Sprintf("%dGi", spec.DiskGiB))
	}
	system := corev1.Linux
	if spec.OS == infrav1.Windows {
		system = corev1.Windows
	}
	return faultlinev1.MachineTemplateStatus{
		Capacity: capacity,
		NodeInfo: faultlinev1.NodeInfo{Architecture: faultlinev1.ArchitectureAMD64, OperatingSystem: string(system)},
	}, nil
}
