// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

const (
	// templatesAnnotation holds the PVCs that Harvester creates for a virtual machine.
	templatesAnnotation = "harvesterhci.io/volumeClaimTemplates"
	// RunStrategyAnnotation holds the run strategy for a virtual machine that is started after it was halted.
	RunStrategyAnnotation = "harvesterhci.io/vmRunStrategy"
	// cleanupFinalizer is set by Harvester and removed once it has deleted the snapshots of a virtual machine.
	cleanupFinalizer = "wrangler.cattle.io/VMController.CleanupPVCAndSnapshot"
	// imageAnnotation on a PVC names the image that it is created from.
	imageAnnotation = "harvesterhci.io/imageId"
)

// harvester simulates Harvester's processing of virtual machines: it creates the PVCs, and records the run strategy.
type harvester struct {
	client client.Client
	guests *Guests
	faults *controllers.FaultTable
}

// Reconcile processes a virtual machine in addition to the real virt-controller.
func (r *harvester) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	vm := &kubevirtv1.VirtualMachine{}
	if err := r.client.Get(ctx, req.NamespacedName, vm); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if vm.DeletionTimestamp != nil {
		if vmi, err := r.instance(ctx, vm); vmi != nil || err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.release(ctx, vm)
	}
	if !controllerutil.ContainsFinalizer(vm, cleanupFinalizer) {
		_, err := r.initializeVM(ctx, vm)
		return ctrl.Result{}, err
	}
	_, err := r.volumes(ctx, vm)
	return ctrl.Result{}, err
}

// initializeVM records the run strategy of a new virtual machine, and adds Harvester's finalizer and further ones. It reports whether the
// write succeeded.
func (r *harvester) initializeVM(ctx context.Context, vm *kubevirtv1.VirtualMachine, finalizers ...string) (bool, error) {
	for _, finalizer := range append(finalizers, cleanupFinalizer) {
		controllerutil.AddFinalizer(vm, finalizer)
	}
	if strategy, err := vm.RunStrategy(); err == nil && strategy != kubevirtv1.RunStrategyHalted {
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, RunStrategyAnnotation, string(strategy))
	}
	err := r.client.Update(ctx, vm)
	if controllers.IgnoreStale(err) != nil {
		return false, fmt.Errorf("updating virtual machine: %w", err)
	}
	return err == nil, nil // after a conflict, an event follows
}

// release removes the finalizers of a virtual machine whose instance has been deleted. Its PVCs are kept.
func (r *harvester) release(ctx context.Context, vm *kubevirtv1.VirtualMachine, finalizers ...string) error {
	if err := r.guests.Erase(ctx, vm); err != nil {
		return err
	}
	if !r.faults.Has(controllers.NoCleanup, vm) {
		finalizers = append(finalizers, cleanupFinalizer)
	}
	return controllers.RemoveFinalizers(ctx, r.client, vm, finalizers...)
}

// instance returns the instance owned by the virtual machine, or nil.
func (r *harvester) instance(ctx context.Context, vm *kubevirtv1.VirtualMachine) (*kubevirtv1.VirtualMachineInstance, error) {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(vm), vmi); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(vmi, vm) {
		return nil, nil
	}
	return vmi, nil
}

// volumes creates the PVCs of the annotation and returns the PVCs of the virtual machine that do not exist.
func (r *harvester) volumes(ctx context.Context, vm *kubevirtv1.VirtualMachine) (missing []string, err error) {
	var templates []corev1.PersistentVolumeClaim
	if text := vm.Annotations[templatesAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &templates); err != nil {
			return nil, fmt.Errorf("reading the annotation %s: %w", templatesAnnotation, err)
		}
	}
	for i := range templates {
		claim, err := r.claim(ctx, vm.Namespace, &templates[i])
		if err != nil {
			return nil, err
		}
		known := r.client.Get(ctx, client.ObjectKeyFromObject(claim), &corev1.PersistentVolumeClaim{})
		if known == nil {
			continue
		}
		if err := r.client.Create(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating volume %s: %w", claim.Name, err)
		}
	}
	for _, name := range cluster.ClaimsOf(&vm.Spec.Template.Spec) {
		err := r.client.Get(ctx, client.ObjectKey{Namespace: vm.Namespace, Name: name}, &corev1.PersistentVolumeClaim{})
		made := slices.ContainsFunc(templates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == name })
		if apierrors.IsNotFound(err) && !made {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// claim returns the PVC of a template. For an image with the CDI backend, Harvester creates a DataVolume, whose PVC has none of
// the template's labels and annotations.
func (r *harvester) claim(ctx context.Context, namespace string, template *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: template.Name, Labels: template.Labels, Annotations: template.Annotations,
		},
		Spec: template.Spec,
	}
	of, name, found := strings.Cut(template.Annotations[imageAnnotation], "/")
	if !found {
		return claim, nil
	}
	image := &harvesterhciv1.VirtualMachineImage{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: of, Name: name}, image); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the image of volume %s: %w", claim.Name, err)
	}
	if image.Spec.Backend == harvesterhciv1.BackendCDI {
		claim.Labels, claim.Annotations = nil, nil
	}
	return claim, nil
}
