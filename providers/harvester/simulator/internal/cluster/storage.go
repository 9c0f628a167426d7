// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

const (
	// ClaimField indexes virtual machines and instances by the PVCs they use.
	ClaimField = "spec.volumes.persistentVolumeClaim"
	classField = "spec.storageClassName"
)

// AddStorage adds the controllers. With mounted, PersistentVolumes are created, because Pods mount bound volumes.
func AddStorage(ctx context.Context, set *controllers.Set, clock *controllers.Clock, delays controllers.Delays, mounted bool) error {
	if err := indexFields(ctx, set); err != nil {
		return err
	}
	c := set.Client()
	return errors.Join(
		set.Controller("volume").For(&corev1.PersistentVolumeClaim{}).
			Watches(&kubevirtv1.VirtualMachineInstance{}, handler.EnqueueRequestsFromMapFunc(claimsOfInstance)).
			Watches(&storagev1.StorageClass{}, set.EnqueueByField(&corev1.PersistentVolumeClaimList{}, classField)).
			Watches(&harvesterhciv1.VirtualMachineImage{}, handler.EnqueueRequestsFromMapFunc(claimsOfImage(c))).
			WatchesRawSource(set.EnqueueOnFaultChange(&corev1.PersistentVolumeClaimList{})).
			Complete(&volumes{client: c, clock: clock, delay: delays.Volume, faults: set.Faults(), mounted: mounted}),
		set.Controller("image").For(&harvesterhciv1.VirtualMachineImage{}).
			WatchesRawSource(set.EnqueueOnFaultChange(&harvesterhciv1.VirtualMachineImageList{})).
			Complete(&images{client: c, clock: clock, delay: delays.Import, faults: set.Faults()}),
	)
}

func indexFields(ctx context.Context, set *controllers.Set) error {
	return errors.Join(
		set.IndexField(ctx, &corev1.PersistentVolumeClaim{}, classField, func(obj client.Object) []string {
			return []string{ptr.Deref(obj.(*corev1.PersistentVolumeClaim).Spec.StorageClassName, "")}
		}),
		set.IndexField(ctx, &kubevirtv1.VirtualMachineInstance{}, ClaimField, func(obj client.Object) []string {
			return ClaimsOf(&obj.(*kubevirtv1.VirtualMachineInstance).Spec)
		}),
		set.IndexField(ctx, &kubevirtv1.VirtualMachine{}, ClaimField, func(obj client.Object) []string {
			if template := obj.(*kubevirtv1.VirtualMachine).Spec.Template; template != nil {
				return ClaimsOf(&template.Spec)
			}
			return nil
		}),
	)
}

// claimsOfImage returns the PVCs that are created from an image.
func claimsOfImage(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		claims := &corev1.PersistentVolumeClaimList{}
		err := c.List(ctx, claims, client.MatchingFields{classField: obj.(*harvesterhciv1.VirtualMachineImage).Status.StorageClassName})
		return controllers.Requests(ctx, claims, err)
	}
}

func claimsOfInstance(_ context.Context, obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range ClaimsOf(&obj.(*kubevirtv1.VirtualMachineInstance).Spec) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}})
	}
	return requests
}
