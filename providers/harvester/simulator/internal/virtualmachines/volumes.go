// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// AttachVolume simulates the subresource addvolume of a virtual machine, which a guest cluster's CSI driver uses to attach a volume to a
// Node: it adds the volume to the virtual machine and to its instance, named after the claim. KubeVirt lets only its own
// components change the instance: as must write as one of them.
func AttachVolume(ctx context.Context, c client.Client, as client.Writer, vm client.ObjectKey, claim string) error {
	return changeVolumes(ctx, c, as, vm, func(spec *kubevirtv1.VirtualMachineInstanceSpec) bool {
		if volumeIndex(spec, claim) >= 0 {
			return false
		}
		spec.Volumes = append(spec.Volumes, kubevirtv1.Volume{Name: claim, VolumeSource: kubevirtv1.VolumeSource{
			PersistentVolumeClaim: &kubevirtv1.PersistentVolumeClaimVolumeSource{
				PersistentVolumeClaimVolumeSource: corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}, Hotpluggable: true,
			},
		}})
		spec.Domain.Devices.Disks = append(spec.Domain.Devices.Disks, kubevirtv1.Disk{
			Name: claim, DiskDevice: kubevirtv1.DiskDevice{Disk: &kubevirtv1.DiskTarget{Bus: kubevirtv1.DiskBusSCSI}},
		})
		return true
	})
}

// DetachVolume simulates the subresource removevolume.
func DetachVolume(ctx context.Context, c client.Client, as client.Writer, vm client.ObjectKey, claim string) error {
	return changeVolumes(ctx, c, as, vm, func(spec *kubevirtv1.VirtualMachineInstanceSpec) bool {
		i := volumeIndex(spec, claim)
		if i < 0 || spec.Volumes[i].PersistentVolumeClaim == nil || !spec.Volumes[i].PersistentVolumeClaim.Hotpluggable {
			return false
		}
		spec.Volumes = slices.Delete(spec.Volumes, i, i+1)
		spec.Domain.Devices.Disks = slices.DeleteFunc(spec.Domain.Devices.Disks, func(d kubevirtv1.Disk) bool { return d.Name == claim })
		return true
	})
}

func volumeIndex(spec *kubevirtv1.VirtualMachineInstanceSpec, volume string) int {
	return slices.IndexFunc(spec.Volumes, func(v kubevirtv1.Volume) bool { return v.Name == volume })
}

// errUnchanged is returned if the volume is already attached, or not attached.
var errUnchanged = errors.New("the volume is already attached, or is not attached as a hotpluggable volume")

// changeVolumes changes a virtual machine, and its instance if it exists and has not been changed yet, because it may have been created
// in between.
func changeVolumes(ctx context.Context, c client.Client, as client.Writer, key client.ObjectKey, change func(*kubevirtv1.VirtualMachineInstanceSpec) bool) error {
	vm, vmi := &kubevirtv1.VirtualMachine{}, &kubevirtv1.VirtualMachineInstance{}
	err := update(ctx, c, vm, func() error {
		if err := c.Get(ctx, key, vm); err != nil {
			return err
		}
		if !change(&vm.Spec.Template.Spec) {
			return errUnchanged
		}
		return nil
	})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(update(ctx, as, vmi, func() error {
		if err := c.Get(ctx, key, vmi); err != nil {
			return err
		}
		change(&vmi.Spec)
		return nil
	}))
}

// update writes an object that read has read and changed, retrying on conflict.
func update(ctx context.Context, as client.Writer, o client.Object, read func() error) error {
	return controllers.RetryOnConflict(func() error {
		if err := read(); err != nil {
			return err
		}
		return as.Update(ctx, o)
	})
}
