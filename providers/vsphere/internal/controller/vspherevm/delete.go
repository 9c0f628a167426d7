// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// defaultSoftPowerOffTimeout is upstream's timeout for powerOffMode trySoft.
const defaultSoftPowerOffTimeout = 5 * time.Minute

// deletion returns the steps of a deletion. None of them reads a failure domain or a zone, which may be deleted already.
func (r *Reconciler) deletion() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{r.releaseUnattempted, r.connectToDelete, r.finishTaskBeforeDeletion, r.requireIdentity, r.awaitHost, r.powerOff, r.leaveModule, r.destroy, r.release}
}

// releaseUnattempted releases a VSphereVM for which no clone was ever started: its vCenter may never have been reachable.
func (r *Reconciler) releaseUnattempted(ctx context.Context, s *scope) (reconcile.Progress, error) {
	s.vm.Status.Ready = ptr.To(false)
	if !r.failing(s, powerOff) && !r.failing(s, destroy) { // otherwise the failure stays visible
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineDeletingReason, "")
	}
	if s.vm.Status.CloneMode == "" && s.vm.Status.TaskRef == "" && s.vm.Spec.BiosUUID == "" && s.vm.Status.VMRef == "" {
		return r.removeFinalizer(ctx, s)
	}
	return reconcile.Proceed, nil
}

func (r *Reconciler) connectToDelete(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.cluster == nil {
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineDeletingReason,
			"VSphereCluster was deleted, and with it the vCenter account: delete the virtual machine manually, then remove this object's finalizer")
		return reconcile.Wait, nil
	}
	return r.connect(ctx, s)
}

// finishTaskBeforeDeletion waits for the task in flight first: a clone that is destroyed halfway leaves files behind. Its result does not
// matter.
func (r *Reconciler) finishTaskBeforeDeletion(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if left := r.remainingDelay(s); left > 0 {
		return reconcile.Retry(left), nil
	}
	if s.vm.Status.TaskRef == "" {
		return reconcile.Proceed, nil
	}
	s.doing = s.vm.Status.TaskOperation
	task, err := r.task(ctx, s)
	switch {
	case errors.Is(err, vcenter.ErrNotFound):
	case err != nil:
		return reconcile.Wait, err
	case !task.Done():
		showTask(s)
		return reconcile.Wait, nil
	case task.State == vcenter.TaskSuccess:
		if again := s.adopt(task); !r.visible(s, task) && !again {
			return r.waitForInventory(s), nil
		}
		s.destroyed = s.vm.Status.TaskOperation == destroy && task.Entity == s.vm.Status.VMRef
	case s.found:
		return r.handleFailedTask(ctx, s, task)
	}
	r.clearTask(s)
	return reconcile.Proceed, nil
}

// showTask reports that the deletion waits for the task in flight.
func showTask(s *scope) {
	setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineDeletingReason, fmt.Sprintf("Waiting for task %s to complete", s.vm.Status.TaskRef))
}

// handleFailedTask handles a task that failed while the machine is still in the inventory, which may lag behind vCenter. A destroy task
// may report NotFound for an object other than the machine, so the existence of the machine is checked in vCenter.
func (r *Reconciler) handleFailedTask(ctx context.Context, s *scope, task vcenter.Task) (reconcile.Progress, error) {
	if s.doing == destroy && virtualmachine.Already(destroy, task.Err) {
		exists, err := s.session.Exists(ctx, s.observed.Ref)
		if err != nil {
			return r.refused(s, "looking up", err)
		}
		if !exists {
			return r.waitForInventory(s), nil
		}
	}
	return r.retryFailedTask(s, task), nil
}

// retryFailedTask reports a task that failed and left the machine in place, and retries it after a delay.
func (r *Reconciler) retryFailedTask(s *scope, task vcenter.Task) reconcile.Progress {
	r.clearTask(s)
	reason, message := infrav1.VSphereVMVirtualMachineDeletingReason, failureOf(task)
	if unmanaged, why := virtualmachine.Unmanageable(s.observed); !s.observed.Connected() && unmanaged == infrav1.VSphereVMVirtualMachineUnmanageableReason {
		reason, message = unmanaged, fmt.Sprintf("%s; %s: %s", why, message, virtualmachine.ByHand(s.observed))
	}
	return r.failAndRetry(s, reason, message)
}

// requireIdentity stops a deletion that cannot identify its virtual machine.
func (r *Reconciler) requireIdentity(_ context.Context, s *scope) (reconcile.Progress, error) {
	if len(s.verdict.Rivals) > 0 && !s.found && !s.destroyed {
		return r.reportAmbiguous(s), nil
	}
	return reconcile.Proceed, nil
}

// awaitHost waits while the machine's host is disconnected: vCenter cannot operate on the machine, which may still be running.
// It ends with the event that the host is connected again.
func (r *Reconciler) awaitHost(_ context.Context, s *scope) (reconcile.Progress, error) {
	if !s.found || s.observed.Connected() {
		return reconcile.Proceed, nil
	}
	reason, why := virtualmachine.Unmanageable(s.observed)
	if reason != infrav1.VSphereVMVirtualMachineWaitingForHostReason {
		return reconcile.Proceed, nil
	}
	setProvisioned(s.vm, reason, why+": it is destroyed once the host is connected again")
	return reconcile.Wait, nil
}

// powerOff powers off the machine according to powerOffMode.
func (r *Reconciler) powerOff(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if !s.found || s.observed.Power != vcenter.PoweredOn || s.observed.Connection == vcenter.Orphaned {
		return reconcile.Proceed, nil
	}
	if !s.observed.Connected() {
		return r.powerOffUnmanageable(ctx, s)
	}
	if s.vm.Spec.PowerOffMode == infrav1.VirtualMachinePowerOpModeSoft || s.vm.Spec.PowerOffMode == infrav1.VirtualMachinePowerOpModeTrySoft {
		if p, done, err := r.shutDownGuest(ctx, s); err != nil || !done {
			return p, err
		}
	}
	s.doing = powerOff
	task, err := s.session.PowerOff(ctx, s.observed.Ref)
	if err != nil {
		return r.refused(s, "powering off", err)
	}
	r.recordTask(s, task, powerOff)
	showTask(s)
	return reconcile.Wait, nil
}

// shutDownGuest requests a shutdown of the guest and waits for it. done is true when the machine must be powered off hard.
func (r *Reconciler) shutDownGuest(ctx context.Context, s *scope) (p reconcile.Progress, done bool, err error) {
	soft := s.vm.Spec.PowerOffMode == infrav1.VirtualMachinePowerOpModeSoft
	requested := conditions.Get(s.vm, infrav1.VSphereVMGuestSoftPowerOffSucceededCondition)
	if requested == nil {
		if err := s.session.ShutdownGuest(ctx, s.observed.Ref); err != nil {
			return r.shutdownRejected(s, soft, err)
		}
		requested = &metav1.Condition{LastTransitionTime: metav1.NewTime(r.Clock.Now())}
		status.False(s.vm, infrav1.VSphereVMGuestSoftPowerOffSucceededCondition, infrav1.VSphereVMGuestSoftPowerOffInProgressReason, "")
	}
	if soft {
		return reconcile.Wait, false, nil
	}
	if left := requested.LastTransitionTime.Add(softTimeout(s)).Sub(r.Clock.Now()); left > 0 {
		return reconcile.Retry(left), false, nil
	}
	r.warn(s, "SoftPowerOffTimedOut", "Delete", "Guest did not shut down within %s, powering off", softTimeout(s))
	return reconcile.Proceed, true, nil
}

// shutdownRejected handles a rejected shutdown request. Only a guest that cannot shut down is powered off at once; other problems may
// be transient, and are retried until the timeout of the guest.
func (r *Reconciler) shutdownRejected(s *scope, soft bool, err error) (p reconcile.Progress, done bool, _ error) {
	s.doing = powerOff
	unable := errors.Is(err, vcenter.ErrNoTools)
	switch overdue := s.vm.DeletionTimestamp.Add(softTimeout(s)).Before(r.Clock.Now()); {
	case !soft && (unable || overdue):
		r.warn(s, "SoftPowerOffFailed", "Delete", "Guest cannot shut down, powering off: %v", err)
		return reconcile.Proceed, true, nil
	case unable:
		return r.failAndRetry(s, infrav1.VSphereVMVirtualMachineDeletingReason, fmt.Sprintf(
			"guest cannot shut down: %v: start VMware Tools or set powerOffMode to trySoft or hard", err)), false, nil
	}
	p, err = r.refused(s, "shutting down the guest of", err)
	return p, false, err
}

func softTimeout(s *scope) time.Duration {
	if seconds := s.vm.Spec.GuestSoftPowerOffTimeoutSeconds; seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return defaultSoftPowerOffTimeout
}

// destroy deletes the virtual machine and its disks.
func (r *Reconciler) destroy(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if !s.found {
		return reconcile.Proceed, nil
	}
	s.doing = destroy
	if !s.observed.Connected() {
		return r.unregister(ctx, s)
	}
	task, err := s.session.Destroy(ctx, s.observed.Ref)
	if err != nil {
		return r.refused(s, "destroying", err)
	}
	r.recordTask(s, task, destroy)
	showTask(s)
	r.event(s, "Destroying", "Delete", "Destroying virtual machine %s", s.observed.Path)
	return reconcile.Wait, nil
}

// release removes the finalizer when nothing is left: the recorded machine was destroyed, or vCenter reports that it does not
// exist. If none is recorded, a clone whose task was lost in a crash may still be running; its end enqueues this object.
func (r *Reconciler) release(ctx context.Context, s *scope) (reconcile.Progress, error) {
	switch {
	case s.destroyed:
	case s.vm.Status.VMRef != "":
		exists, err := s.session.Exists(ctx, s.vm.Status.VMRef)
		if err != nil {
			return r.refused(s, "looking up", err)
		}
		if exists {
			return r.reportNotVisible(s), nil
		}
	case unidentified(s.vm):
		if p, err := r.awaitLostClone(ctx, s); err != nil || p != reconcile.Proceed {
			return p, err
		}
	}
	if len(s.verdict.Strangers) > 0 {
		r.warn(s, "LeftAlone", "Delete", "%s is not deleted: nothing proves that it is this VSphereVM's virtual machine", virtualmachine.Paths(s.verdict.Strangers))
	}
	return r.removeFinalizer(ctx, s)
}

// removeFinalizer completes a deletion.
func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if err := r.releaseAddresses(ctx, s); err != nil {
		return reconcile.Wait, err
	}
	controllerutil.RemoveFinalizer(s.vm, infrav1.VMFinalizer)
	return reconcile.Wait, nil
}

// awaitLostClone waits for a virtual machine that may still be created: a running clone of the template, or a machine with the
// name and no UUIDs yet.
func (r *Reconciler) awaitLostClone(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if unfinished := s.session.Unfinished(s.vm.Name); len(unfinished) > 0 {
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineDeletingReason, fmt.Sprintf(
			"Waiting for the UUIDs of %s, which may be this virtual machine: if they stay missing, remove it from vCenter's inventory, or rename it if it is a different machine",
			virtualmachine.Paths(unfinished)))
		return reconcile.Retry(r.RetryAfter), nil
	}
	cloning, err := s.session.Cloning(ctx, vcenter.LostClone{
		TemplateRef: s.vm.Status.TemplateRef, InstanceUUID: string(s.vm.UID), Before: s.vm.DeletionTimestamp.Time,
	})
	if err != nil {
		return r.refused(s, "listing running clones before releasing", err)
	}
	if cloning {
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineDeletingReason,
			"Waiting for running clones of the template, or for a virtual machine that vCenter does not show yet: it may be this virtual machine")
		return reconcile.Retry(r.RetryAfter), nil
	}
	return reconcile.Proceed, nil
}
