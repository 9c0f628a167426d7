// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	vmNameLabel = "harvesterhci.io/vmName"
	creator     = "harvester"
	// restoredBy on a virtual machine and on PVCs names the VirtualMachineRestore that created them.
	restoredBy = "restore.harvesterhci.io/name"
	// stopPollInterval is the interval at which a virtual machine is polled until it has stopped for a restore.
	stopPollInterval = 20 * time.Millisecond
)

// Clone simulates Harvester's clone action: the copy has the labels of the virtual machine, and labels and annotations of its
// template. Its PVCs have none.
func Clone(ctx context.Context, c client.Client, of client.ObjectKey, name string) error {
	source := &kubevirtv1.VirtualMachine{}
	if err := c.Get(ctx, of, source); err != nil {
		return fmt.Errorf("reading virtual machine %s: %w", of, err)
	}
	vm := copyOf(source, name)
	vm.Labels, vm.Annotations = maps.Clone(source.Labels), map[string]string{}
	metav1.SetMetaDataLabel(&vm.Spec.Template.ObjectMeta, vmNameLabel, name)
	var templates []corev1.PersistentVolumeClaim
	err := renameClaims(ctx, c, vm, name, func(claim *corev1.PersistentVolumeClaim) error {
		claim.Labels, claim.Annotations = nil, nil
		templates = append(templates, *claim)
		return nil
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(templates)
	if err != nil {
		return fmt.Errorf("writing the annotation %s: %w", templatesAnnotation, err)
	}
	vm.Annotations[templatesAnnotation] = string(text)
	return createCopy(ctx, c, vm)
}

// Restore simulates the restore of a backup to a new virtual machine. Its PVCs have labels and annotations of those that were
// backed up.
func Restore(ctx context.Context, c client.Client, of client.ObjectKey, name string) error {
	source := &kubevirtv1.VirtualMachine{}
	if err := c.Get(ctx, of, source); err != nil {
		return fmt.Errorf("reading virtual machine %s: %w", of, err)
	}
	vm := copyOf(source, name)
	vm.Annotations = map[string]string{restoredBy: name}
	vm.Spec.Template.ObjectMeta.Labels = map[string]string{creatorLabel: creator, vmNameLabel: name}
	if err := restoreClaims(ctx, c, vm, name); err != nil {
		return err
	}
	return createCopy(ctx, c, vm)
}

// RestoreInPlace simulates the restore of a backup that replaces the PVCs of a virtual machine, which it stops first. The old
// PVCs are kept.
func RestoreInPlace(ctx context.Context, c client.Client, key client.ObjectKey, name string) error {
	vm := &kubevirtv1.VirtualMachine{}
	var strategy *kubevirtv1.VirtualMachineRunStrategy
	err := update(ctx, c, vm, func() error {
		if err := c.Get(ctx, key, vm); err != nil {
			return err
		}
		strategy, vm.Spec.RunStrategy = vm.Spec.RunStrategy, ptr.To(kubevirtv1.RunStrategyHalted)
		return nil
	})
	if err != nil {
		return fmt.Errorf("stopping virtual machine %s: %w", key, err)
	}
	err = wait.PollUntilContextCancel(ctx, stopPollInterval, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, key, &kubevirtv1.VirtualMachineInstance{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting for virtual machine %s to stop: %w", key, err)
	}
	restored := vm.DeepCopy()
	if err := restoreClaims(ctx, c, restored, name); err != nil {
		return err
	}
	return update(ctx, c, vm, func() error {
		if err := c.Get(ctx, key, vm); err != nil {
			return err
		}
		vm.Spec.Template.Spec.Volumes, vm.Spec.RunStrategy = restored.Spec.Template.Spec.Volumes, strategy
		delete(vm.Annotations, templatesAnnotation)
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, restoredBy, name)
		return nil
	})
}

// restoreClaims creates the PVCs of a restore, with labels and annotations of the old ones.
func restoreClaims(ctx context.Context, c client.Client, vm *kubevirtv1.VirtualMachine, restore string) error {
	return renameClaims(ctx, c, vm, "restore-"+restore, func(claim *corev1.PersistentVolumeClaim) error {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, restoredBy, restore)
		if err := c.Create(ctx, claim); err != nil {
			return fmt.Errorf("restoring volume %s: %w", claim.Name, err)
		}
		return nil
	})
}

// copyOf returns a copy of a virtual machine, in its namespace.
func copyOf(source *kubevirtv1.VirtualMachine, name string) *kubevirtv1.VirtualMachine {
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: name}, Spec: *source.Spec.DeepCopy()}
	vm.Spec.Template.Spec.Hostname = name
	for i := range vm.Spec.Template.Spec.Domain.Devices.Interfaces {
		vm.Spec.Template.Spec.Domain.Devices.Interfaces[i].MacAddress = ""
	}
	return vm
}

// renameClaims replaces the PVCs of a virtual machine by copies, which are passed to each with the metadata of the original.
func renameClaims(
	ctx context.Context, c client.Client, vm *kubevirtv1.VirtualMachine, prefix string, each func(*corev1.PersistentVolumeClaim) error,
) error {
	for i := range vm.Spec.Template.Spec.Volumes {
		volume := &vm.Spec.Template.Spec.Volumes[i]
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		source := &corev1.PersistentVolumeClaim{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: vm.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}, source); err != nil {
			return fmt.Errorf("reading volume: %w", err)
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: vm.Namespace, Name: prefix + "-" + volume.Name, Labels: source.Labels, Annotations: source.Annotations,
		}, Spec: source.Spec}
		claim.Spec.VolumeName = ""
		volume.PersistentVolumeClaim.ClaimName = claim.Name
		if err := each(claim); err != nil {
			return err
		}
	}
	return nil
}

// createCopy creates a virtual machine, with copies of the Secrets that it boots from. They have no labels.
func createCopy(ctx context.Context, c client.Client, vm *kubevirtv1.VirtualMachine) error {
	made := map[string]string{}
	for i := range vm.Spec.Template.Spec.Volumes {
		drive := vm.Spec.Template.Spec.Volumes[i].CloudInitNoCloud
		if drive == nil {
			continue
		}
		for _, ref := range []*corev1.LocalObjectReference{drive.UserDataSecretRef, drive.NetworkDataSecretRef} {
			if ref == nil {
				continue
			}
			if made[ref.Name] == "" {
				secret := &corev1.Secret{}
				if err := c.Get(ctx, client.ObjectKey{Namespace: vm.Namespace, Name: ref.Name}, secret); err != nil {
					return fmt.Errorf("reading boot data: %w", err)
				}
				made[ref.Name] = vm.Name + "-" + ref.Name
				secret.ObjectMeta = metav1.ObjectMeta{Namespace: vm.Namespace, Name: made[ref.Name]}
				if err := c.Create(ctx, secret); err != nil {
					return fmt.Errorf("copying boot data: %w", err)
				}
			}
			ref.Name = made[ref.Name]
		}
	}
	if err := c.Create(ctx, vm); err != nil {
		return fmt.Errorf("creating virtual machine %s: %w", vm.Name, err)
	}
	return nil
}
