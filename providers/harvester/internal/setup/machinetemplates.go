// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/controllers"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachinetemplates/status,verbs=patch

func addMachineTemplates(ctx context.Context, mgr ctrl.Manager, watchFilter string) error {
	if err := (&controllers.MachineTemplates[*infrav1.HarvesterMachineTemplate]{
		Client: mgr.GetClient(), Empty: &infrav1.HarvesterMachineTemplate{}, List: &infrav1.HarvesterMachineTemplateList{}, Status: MachineTemplateStatus,
	}).SetupWithManager(ctx, mgr, watchFilter); err != nil {
		return fmt.Errorf("adding HarvesterMachineTemplate controller: %w", err)
	}
	return nil
}

// MachineTemplateStatus returns the status of a template from its spec alone. The image and the hosts are on Harvester, so the
// architecture is the usual one, and the size of the boot volume is known only if the spec sets it.
func MachineTemplateStatus(_ context.Context, template *infrav1.HarvesterMachineTemplate) (faultlinev1.MachineTemplateStatus, error) {
	spec := template.Spec.Template.Spec
	capacity := corev1.ResourceList{}
	if spec.CPU > 0 {
		capacity[corev1.ResourceCPU] = *resource.NewQuantity(int64(spec.CPU), resource.DecimalSI)
	}
	if memory, err := resource.ParseQuantity(spec.Memory); err == nil && memory.Sign() > 0 {
		capacity[corev1.ResourceMemory] = memory
	}
	if size := bootVolumeSize(spec.Volumes); size != nil && size.Sign() > 0 {
		capacity[corev1.ResourceEphemeralStorage] = *size
	}
	return faultlinev1.MachineTemplateStatus{
		Capacity: capacity,
		NodeInfo: faultlinev1.NodeInfo{Architecture: faultlinev1.ArchitectureAMD64, OperatingSystem: string(corev1.Linux)},
	}, nil
}

// bootVolumeSize returns the size of the volume with the lowest bootOrder, or of the first one if none has a bootOrder; nil if it is
// not set.
func bootVolumeSize(volumes []infrav1.Volume) *resource.Quantity {
	var boot *infrav1.Volume
	for i := range volumes {
		volume := &volumes[i]
		if boot == nil || volume.BootOrder > 0 && (boot.BootOrder == 0 || volume.BootOrder < boot.BootOrder) {
			boot = volume
		}
	}
	if boot == nil {
		return nil
	}
	return boot.VolumeSize
}
