// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/shared/simulation"
)

// claimProtection is the finalizer with which Kubernetes protects a PVC in use.
const claimProtection = "kubernetes.io/pvc-protection"

// volumes simulates Longhorn and the Kubernetes controllers that bind PVCs and protect those in use. PersistentVolumes are
// created only if volumes are mounted.
type volumes struct {
	client  client.Client
	clock   *controllers.Clock
	delay   time.Duration
	faults  *controllers.FaultTable
	mounted bool
	written simulation.Guard
}

// Reconcile binds a PVC, or removes its finalizer.
func (r *volumes) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := r.client.Get(ctx, req.NamespacedName, claim); err != nil {
		r.written.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wait := r.written.Wait(claim); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if claim.DeletionTimestamp != nil {
		return ctrl.Result{}, r.release(ctx, claim)
	}
	if claim.Status.Phase == corev1.ClaimBound || r.faults.Has(controllers.NoVolumes, claim) {
		return ctrl.Result{}, nil
	}
	if ok, err := r.provisionable(ctx, claim); err != nil || !ok {
		return ctrl.Result{}, err
	}
	if wait := r.clock.Remaining(claim.UID, "volume", r.delay); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	r.clock.Forget(claim.UID)
	if r.mounted {
		if err := r.provision(ctx, claim); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.bind(ctx, claim)
}

func (r *volumes) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	claim.Status.Phase, claim.Status.AccessModes = corev1.ClaimBound, claim.Spec.AccessModes
	claim.Status.Capacity = claim.Spec.Resources.Requests
	if err := r.client.Status().Update(ctx, claim); controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("binding volume: %w", err)
	} else if err == nil {
		r.written.Wrote(claim)
	}
	return nil
}

// boundAnnotation makes kube-scheduler treat a claim as bound.
const boundAnnotation = "pv.kubernetes.io/bind-completed"

// provision creates the PersistentVolume of a claim and sets its name in the claim.
func (r *volumes) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(claim)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode,
			StorageClassName: ptr.Deref(claim.Spec.StorageClassName, ""), PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: longhorn, VolumeHandle: nameOf(claim)}},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		},
	}
	if err := r.client.Create(ctx, volume); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating the volume of %s: %w", claim.Name, err)
	}
	before := claim.DeepCopy()
	claim.Spec.VolumeName = volume.Name
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, boundAnnotation, "yes")
	if err := r.client.Patch(ctx, claim, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("setting the volume name of %s: %w", claim.Name, err)
	}
	return nil
}

// nameOf returns the name of a claim's PersistentVolume.
func nameOf(claim *corev1.PersistentVolumeClaim) string { return "pvc-" + string(claim.UID) }

// provisionable reports whether the claim's storage class exists, and the image of the class is imported.
func (r *volumes) provisionable(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	name := ptr.Deref(claim.Spec.StorageClassName, "")
	if name == "" {
		return true, nil // the default class, or no class is needed
	}
	class := &storagev1.StorageClass{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, class); apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("reading storage class: %w", err)
	}
	namespace, of, ok := strings.Cut(class.Annotations[imageAnnotation], "/")
	if !ok {
		return true, nil
	}
	image := &harvesterhciv1.VirtualMachineImage{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: of}, image); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading image: %w", err)
	}
	return imported(image) == corev1.ConditionTrue, nil
}

// release removes the finalizer of a PVC that no instance uses.
func (r *volumes) release(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	users := &kubevirtv1.VirtualMachineInstanceList{}
	if err := r.client.List(ctx, users, client.InNamespace(claim.Namespace), client.MatchingFields{ClaimField: claim.Name}); err != nil {
		return fmt.Errorf("listing the users of a volume: %w", err)
	}
	if len(users.Items) > 0 {
		return nil
	}
	if r.mounted {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: nameOf(claim)}}
		if err := r.client.Delete(ctx, volume); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the volume of %s: %w", claim.Name, err)
		}
	}
	return controllers.RemoveFinalizers(ctx, r.client, claim, claimProtection)
}

// ClaimsOf returns the PVCs that an instance uses.
func ClaimsOf(spec *kubevirtv1.VirtualMachineInstanceSpec) []string {
	var names []string
	for i := range spec.Volumes {
		if claim := spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
	}
	return names
}
