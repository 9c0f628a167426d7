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
	"github.com/faultline-io/faultline/shared/status"
)

// defaultSoftPowerOffTimeout is upstream's, for powerOffMode trySoft.
const defaultSoftPowerOffTimeout = 5 * time.Minute

// deletion lists the steps that leave nothing behind. None of them looks at a failure domain or a zone, which may be gone.
func (r *Reconciler) deletion() []step {
	return []step{r.releaseUnattempted, r.connectToDelete, r.settleDeletion, r.awaitHost, r.powerOff, r.destroy, r.release}
}

// releaseUnattempted lets a VSphereVM go that no clone was ever started for: its vCenter may never have been reachable.
func (r *Reconciler) releaseUnattempted(_ context.Context, s *scope) (progress, error) {
	s.vm.Status.Ready = ptr.To(false)
	if !r.failing(s, powerOff) && !r.failing(s, destroy) { // else that stays to be read
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineDeletingReason, "")
	}
	if s.vm.Status.CloneMode == "" && s.vm.Status.TaskRef == "" && s.vm.Spec.BiosUUID == "" && s.vm.Status.VMRef == "" {
		controllerutil.RemoveFinalizer(s.vm, infrav1.VMFinalizer)
		return wait, nil
	}
	return proceed, nil
}

func (r *Reconciler) connectToDelete(ctx context.Context, s *scope) (progress, error) {
	if s.cluster == nil {
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineDeletingReason,
			"VSphereCluster is gone and with it the account for vCenter: destroy the virtual machine by hand, then remove this object's finalizer")
		return wait, nil
	}
	return r.connect(ctx, s)
}

// settleDeletion lets the task in flight end first: a clone that is destroyed half-way leaves files behind. Whether it
// ended well does not matter any more.
func (r *Reconciler) settleDeletion(ctx context.Context, s *scope) (progress, error) {
	if left := r.pausing(s); left > 0 {
		return progress{after: left}, nil
	}
	if s.vm.Status.TaskRef == "" {
		return proceed, nil
	}
	s.doing = r.tasks.operation(inFlight(s.vm))
	task, err := r.task(ctx, s)
	switch {
	case errors.Is(err, vcenter.ErrNotFound):
	case err != nil:
		return wait, err
	case !task.Done():
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineDeletingReason, fmt.Sprintf("Waiting for task %s to end", s.vm.Status.TaskRef))
		return wait, nil
	case task.State == vcenter.TaskSuccess:
		if s.adopt(task); !r.visible(s, task) {
			return s.waitForInventory(), nil
		}
	case s.found:
		r.settled(s)
		return r.again(s, infrav1.VSphereVMVirtualMachineDeletingReason, failureOf(task)), nil
	}
	s.finished = task
	r.settled(s)
	return proceed, nil
}

// adopt takes the virtual machine that a clone has made from the clone's own result, should it not carry our UUID.
func (s *scope) adopt(task vcenter.Task) {
	if !s.found && task.Result != "" {
		s.observed, s.found = s.session.VMByRef(task.Result)
	}
}

// awaitHost waits while vCenter has lost the machine's host: nothing can be done to the machine, which may even run. It ends
// with the event that the host is back.
func (r *Reconciler) awaitHost(_ context.Context, s *scope) (progress, error) {
	if !s.found || s.observed.Connected {
		return proceed, nil
	}
	setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineWaitingForHostReason, fmt.Sprintf(
		"vCenter has lost host %s or the files of virtual machine %s, which is destroyed when they are back", s.observed.Host, s.observed.Path))
	return wait, nil
}

// powerOff stops the machine in the way of powerOffMode.
func (r *Reconciler) powerOff(ctx context.Context, s *scope) (progress, error) {
	if !s.found || s.observed.Power != vcenter.PoweredOn {
		return proceed, nil
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
	r.started(s, task, powerOff)
	return wait, nil
}

// shutDownGuest asks the guest to shut down and waits for it. It is done when the machine is to be powered off hard.
func (r *Reconciler) shutDownGuest(ctx context.Context, s *scope) (p progress, done bool, err error) {
	soft := s.vm.Spec.PowerOffMode == infrav1.VirtualMachinePowerOpModeSoft
	asked := conditions.Get(s.vm, infrav1.VSphereVMGuestSoftPowerOffSucceededCondition)
	if asked == nil {
		if err := s.session.ShutdownGuest(ctx, s.observed.Ref); err != nil {
			return r.notAsked(s, soft, err)
		}
		asked = &metav1.Condition{LastTransitionTime: metav1.NewTime(r.Clock.Now())}
		status.False(s.vm, infrav1.VSphereVMGuestSoftPowerOffSucceededCondition, infrav1.VSphereVMGuestSoftPowerOffInProgressReason, "")
	}
	if soft {
		return wait, false, nil
	}
	if left := asked.LastTransitionTime.Add(softTimeout(s)).Sub(r.Clock.Now()); left > 0 {
		return progress{after: left}, false, nil
	}
	r.warn(s, "SoftPowerOffTimedOut", "Delete", "Guest did not shut down within %s, powering off", softTimeout(s))
	return proceed, true, nil
}

// notAsked decides what becomes of a guest that vCenter did not ask to shut down. Only one that cannot is powered off for
// it; what else kept vCenter from asking may pass, and is waited for as long as for a guest.
func (r *Reconciler) notAsked(s *scope, soft bool, err error) (p progress, done bool, _ error) {
	s.doing = powerOff
	unable := errors.Is(err, vcenter.ErrNoTools)
	switch overdue := s.vm.DeletionTimestamp.Add(softTimeout(s)).Before(r.Clock.Now()); {
	case !soft && (unable || overdue):
		r.warn(s, "SoftPowerOffFailed", "Delete", "Guest cannot shut down, powering off: %v", err)
		return proceed, true, nil
	case unable:
		return r.again(s, infrav1.VSphereVMVirtualMachineDeletingReason, fmt.Sprintf(
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

// destroy removes the virtual machine and its disks.
func (r *Reconciler) destroy(ctx context.Context, s *scope) (progress, error) {
	if !s.found {
		return proceed, nil
	}
	s.doing = destroy
	task, err := s.session.Destroy(ctx, s.observed.Ref)
	if err != nil {
		return r.refused(s, "destroying", err)
	}
	r.started(s, task, destroy)
	r.event(s, "Destroying", "Delete", "Destroying virtual machine %s", s.observed.Path)
	return wait, nil
}

// release drops the finalizer when nothing is left. A clone whose task was lost in a crash may still be on its way:
// then it is one of the running clones of the template, and its end wakes this object.
func (r *Reconciler) release(ctx context.Context, s *scope) (progress, error) {
	if unidentified(s.vm) && s.finished.Ref == "" {
		cloning, err := s.session.Cloning(ctx, vcenter.LostClone{
			Datacenter: s.vm.Spec.Datacenter, Template: s.vm.Spec.Template, Name: s.vm.Name, Before: s.vm.DeletionTimestamp.Time,
		})
		if err != nil {
			return r.refused(s, "looking for running clones before releasing", err)
		}
		if cloning {
			setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineDeletingReason, "Waiting for running clones of the template: one of them may be this virtual machine")
			return progress{after: r.RetryAfter}, nil
		}
	}
	unseen, err := hidden(ctx, s)
	if err != nil {
		return r.refused(s, "looking for", err)
	}
	if unseen {
		r.fail(s, infrav1.VSphereVMVirtualMachineDeletingReason, fmt.Sprintf(
			"vCenter has virtual machine %s but shows it in no folder: give the account read permission on it, or take it out of its vApp", s.vm.Status.VMRef))
		return progress{after: r.RetryAfter}, nil
	}
	controllerutil.RemoveFinalizer(s.vm, infrav1.VMFinalizer)
	return wait, nil
}

// hidden reports whether a virtual machine that we have not destroyed is only out of sight.
func hidden(ctx context.Context, s *scope) (bool, error) {
	if s.vm.Status.VMRef == "" || s.finished.Ref != "" {
		return false, nil
	}
	return s.session.Exists(ctx, s.vm.Status.VMRef)
}
