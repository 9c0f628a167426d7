// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// reconcileDelete deletes the VSphereVM and waits for its deletion. It needs no zone.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.vm == nil { // or the cache does not show it yet
		var err error
		if s.vm, err = findVM(ctx, r.Live, s); err != nil {
			return ctrl.Result{}, fmt.Errorf("getting the VSphereVM: %w", err)
		}
	}
	if s.vm == nil {
		controllerutil.RemoveFinalizer(s.infra, infrav1.MachineFinalizer)
		return ctrl.Result{}, nil
	}
	if !ownedBy(s.vm, s.infra) {
		// It belongs to another machine, so nothing is left to delete.
		controllerutil.RemoveFinalizer(s.infra, infrav1.MachineFinalizer)
		return ctrl.Result{}, nil
	}
	message := fmt.Sprintf("Deleting VSphereVM %s", s.vm.Name)
	why := ""
	if shows := shownCondition(s.vm); shows != nil && shows.Message != "" {
		why = shows.Message
		message += ": " + why
	}
	setProvisioned(s.infra, infrav1.VSphereVMVirtualMachineDeletingReason, message)
	if err := r.sync(ctx, s); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if s.vm.DeletionTimestamp.IsZero() {
		if err := r.Client.Delete(ctx, s.vm); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("deleting VSphereVM %s: %w", s.vm.Name, err)
		}
		return ctrl.Result{}, nil
	}
	if outlives(s.vm, s.infra) {
		r.warn(s, "LeftToVSphereVM", "Delete", "VSphereVM %s will destroy the virtual machine later: %s", s.vm.Name, why)
		controllerutil.RemoveFinalizer(s.infra, infrav1.MachineFinalizer)
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
