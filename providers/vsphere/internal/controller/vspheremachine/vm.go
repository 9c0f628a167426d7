// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/status"
)

// vmName returns the name of the VSphereVM and of the virtual machine, by default the Machine's.
func vmName(s *scope) (string, error) {
	if s.machine == nil {
		return s.vsphere.Name, nil
	}
	name, err := s.vsphere.Spec.Naming.VMName(s.machine.Name)
	if err == nil && s.vsphere.Spec.OS == infrav1.Windows {
		name = infrav1.WindowsVMName(s.machine.Name, name)
	}
	return name, err
}

func (r *Reconciler) create(ctx context.Context, s *scope, spec infrav1.VSphereVMSpec) error {
	name, err := vmName(s)
	if err != nil {
		setProvisioned(s.vsphere, infrav1.VSphereVMVirtualMachineInvalidSpecReason, fmt.Sprintf("spec.naming.template: %v", err))
		return nil
	}
	spec.BootstrapRef.Name = *s.machine.Spec.Bootstrap.DataSecretName
	vm := &infrav1.VSphereVM{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.vsphere.Namespace,
			Labels:     map[string]string{clusterv1.ClusterNameLabel: s.cluster.Name},
			Finalizers: []string{infrav1.VMFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereMachine", Name: s.vsphere.Name, UID: s.vsphere.UID,
			}},
		},
		Spec: spec,
	}
	carryLabels(s.vsphere, vm)
	if spec.Thumbprint != "" {
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, thumbprintAnnotation, spec.Thumbprint)
	}
	// The machine's finalizer must be stored before the VSphereVM exists, which only the machine's deletion removes.
	if err := s.patch.StoreSpec(ctx, r.Client, s.vsphere); err != nil {
		return err
	}
	if err := r.Client.Create(ctx, vm); err != nil && !apierrors.IsAlreadyExists(err) {
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			setProvisioned(s.vsphere, infrav1.VSphereVMVirtualMachineInvalidSpecReason, err.Error())
			return nil
		}
		return fmt.Errorf("creating VSphereVM %s: %w", name, err)
	}
	r.Recorder.Eventf(s.vsphere, vm, corev1.EventTypeNormal, "Placed", "Place", "Created VSphereVM %s %s", name, domainText(spec))
	s.vm = vm
	return nil
}

// carryLabels copies the owner labels to a VSphereVM. VSphereVMs created by upstream lack the label of their MachineDeployment.
func carryLabels(from *infrav1.VSphereMachine, to *infrav1.VSphereVM) {
	for _, label := range []string{clusterv1.MachineControlPlaneLabel, clusterv1.MachineDeploymentNameLabel, clusterv1.WatchLabel} {
		if value, ok := from.Labels[label]; ok {
			metav1.SetMetaDataLabel(&to.ObjectMeta, label, value)
		}
	}
}

// newVM creates the VSphereVM of a machine that was never provisioned. The bootstrap data of a provisioned machine was
// consumed: a second virtual machine would join with an expired token, or initialize another control plane.
func (r *Reconciler) newVM(ctx context.Context, s *scope) (placed bool, err error) {
	if s.vsphere.Provisioned() {
		reportRemoved(s)
		return false, nil
	}
	if conditions.IsTrue(s.vsphere, infrav1.VSphereMachinePlacementReadyCondition) { // it may exist without being in the cache yet
		if s.vm, err = findVM(ctx, r.Live, s); err != nil || s.vm != nil {
			return s.vm != nil, err
		}
	}
	return r.ensureVM(ctx, s)
}

// reportRemoved reports that a client other than Cluster API deleted the VSphereVM. The condition clears when the VSphereVM is
// restored, for example from a backup.
func reportRemoved(s *scope) {
	name, err := vmName(s)
	if err != nil {
		name = s.machine.Name
	}
	setProvisioned(s.vsphere, infrav1.VSphereMachineVirtualMachineRemovedReason, fmt.Sprintf(
		"VSphereVM %s was deleted outside Cluster API, together with its virtual machine, which is not recreated: delete Machine %s", name, s.machine.Name))
}

func domainText(spec infrav1.VSphereVMSpec) string {
	if spec.Placement.FailureDomain == "" {
		return "without a failure domain"
	}
	return "in failure domain " + spec.Placement.FailureDomain
}

// reconcileDelete deletes the VSphereVM and waits for its deletion. It needs no zone.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.vm == nil { // or the cache does not show it yet
		var err error
		if s.vm, err = findVM(ctx, r.Live, s); err != nil {
			return ctrl.Result{}, fmt.Errorf("getting the VSphereVM: %w", err)
		}
	}
	if s.vm == nil {
		controllerutil.RemoveFinalizer(s.vsphere, infrav1.MachineFinalizer)
		return ctrl.Result{}, nil
	}
	if !metav1.IsControlledBy(s.vm, s.vsphere) && !ownedBy(s.vm, s.vsphere) {
		// It belongs to another machine, so nothing is left to delete.
		controllerutil.RemoveFinalizer(s.vsphere, infrav1.MachineFinalizer)
		return ctrl.Result{}, nil
	}
	message := fmt.Sprintf("Deleting VSphereVM %s", s.vm.Name)
	why := ""
	if shows := shownCondition(s.vm); shows != nil && shows.Message != "" {
		why = shows.Message
		message += ": " + why
	}
	setProvisioned(s.vsphere, infrav1.VSphereVMVirtualMachineDeletingReason, message)
	if err := r.sync(ctx, s); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if s.vm.DeletionTimestamp.IsZero() {
		if err := r.Client.Delete(ctx, s.vm); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("deleting VSphereVM %s: %w", s.vm.Name, err)
		}
		return ctrl.Result{}, nil
	}
	if outlives(s.vm, s.vsphere) {
		r.warn(s, "LeftToVSphereVM", "Delete", "VSphereVM %s will destroy the virtual machine later: %s", s.vm.Name, why)
		controllerutil.RemoveFinalizer(s.vsphere, infrav1.MachineFinalizer)
	}
	return ctrl.Result{}, nil
}

// outlives reports whether the machine is released before its VSphereVM is deleted. A control plane gets no replacement while
// one of its machines is being deleted, which would never end if the host is lost or the files cannot be read. When an
// infrastructure machine is deleted, its etcd member has been removed already, so a virtual machine that keeps running on a
// disconnected host serves no clients. That does not hold for workers, which are replaced anyway.
func outlives(vm *infrav1.VSphereVM, machine *infrav1.VSphereMachine) bool {
	if _, controlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]; !controlPlane {
		return false
	}
	switch conditions.GetReason(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition) {
	case infrav1.VSphereVMVirtualMachineWaitingForHostReason, infrav1.VSphereVMVirtualMachineUnmanageableReason:
		return true
	default:
		return false
	}
}

func ownedBy(vm *infrav1.VSphereVM, machine *infrav1.VSphereMachine) bool {
	for _, ref := range vm.OwnerReferences {
		if ref.Kind == "VSphereMachine" && ref.Name == machine.Name {
			return true
		}
	}
	return false
}

func setProvisioned(machine *infrav1.VSphereMachine, reason, message string) {
	status.False(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, reason, message)
}

func summarize(_ context.Context, s *scope) error {
	return status.Summarize(s.vsphere, infrav1.VSphereMachineVirtualMachineProvisionedCondition)
}
