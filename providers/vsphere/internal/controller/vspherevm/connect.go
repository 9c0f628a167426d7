// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// connect returns the session and identifies the virtual machine in its inventory.
func (r *Reconciler) connect(ctx context.Context, s *scope) (reconcile.Progress, error) {
	session, err := r.VCenters.ForVM(ctx, s.cluster, s.vm)
	if err != nil {
		status.MarkUnknown(s.vm, connection.Condition(err))
		if connection.Waits(err) {
			return reconcile.Retry(connection.RetryAfter(err)), nil
		}
		return reconcile.Wait, err
	}
	conditions.Set(s.vm, connection.Condition(nil))
	s.session = session
	if err := r.identify(ctx, s); err != nil {
		return reconcile.Wait, err
	}
	return reconcile.Proceed, nil
}

// finishTask waits for the task in flight, and clears it when it has ended.
func (r *Reconciler) finishTask(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if left := r.remainingDelay(s); left > 0 {
		return reconcile.Retry(left), r.observeInService(ctx, s)
	}
	if s.vm.Status.TaskRef == "" {
		return reconcile.Proceed, nil
	}
	s.doing = s.vm.Status.TaskOperation
	task, err := r.task(ctx, s)
	if errors.Is(err, vcenter.ErrNotFound) {
		// vCenter drops old tasks. The inventory shows the effect of the task, if any.
		r.clearTask(s)
		return reconcile.Proceed, nil
	}
	if err != nil {
		return reconcile.Wait, err
	}
	switch task.State {
	case vcenter.TaskSuccess:
		if again := s.adopt(task); !r.visible(s, task) && !again {
			return r.waitForInventory(s), nil
		}
		s.finished, s.finishedReason = task, conditions.GetReason(s.vm, infrav1.VSphereVMVirtualMachineProvisionedCondition)
		s.finishedOperation = s.doing
		if s.doing == configure { // otherwise the condition reports it, unless it still reports a failed attempt
			s.finishedReason = infrav1.VSphereVMVirtualMachineConfiguringReason
		}
		r.failures.forget(client.ObjectKeyFromObject(s.vm))
		r.clearTask(s)
		return reconcile.Proceed, nil
	case vcenter.TaskError:
		r.clearTask(s)
		return r.taskFailed(s, task)
	default:
		return reconcile.Wait, nil
	}
}

// adopt records the virtual machine that a clone has created. The result of the task is known before the inventory shows the
// machine or its UUIDs, and even if it never does. It returns whether the result was recorded before and is still not visible.
func (s *scope) adopt(task vcenter.Task) (again bool) {
	if s.found || task.Result == "" {
		return false
	}
	before := s.vm.Status.VMRef
	s.vm.Status.VMRef = task.Result
	made, there := s.session.VMByRef(task.Result)
	switch {
	case !there:
		return before == task.Result
	case virtualmachine.Proven(s.vm, made):
		s.observed, s.found = made, true
	default:
		s.vm.Status.VMRef = before // a vCenter restored from a backup reuses the references of tasks
	}
	return false
}

// visible reports whether the inventory shows the effect of a task that succeeded. Until then the task stays recorded,
// otherwise it would be started again. The inventory of a new session shows the effects of tasks that were started before a
// restart.
func (r *Reconciler) visible(s *scope, task vcenter.Task) bool {
	switch {
	case task.Result != "":
		return s.found
	case s.vm.Status.TaskOperation == destroy:
		_, there := s.session.VMByRef(s.vm.Status.VMRef)
		return !there
	case !s.found || !r.tasks.has(inFlight(s.vm)):
		return true
	case s.vm.Status.TaskOperation == powerOn:
		return s.observed.Power == vcenter.PoweredOn
	case s.vm.Status.TaskOperation == powerOff:
		return s.observed.Power != vcenter.PoweredOn
	default:
		return true
	}
}

// task returns the task in flight. It counts as successful if its operation had been done already.
func (r *Reconciler) task(ctx context.Context, s *scope) (vcenter.Task, error) {
	task, ok := s.session.Task(s.vm.Status.TaskRef)
	if !ok {
		var err error
		if task, err = s.session.LookupTask(ctx, s.vm.Status.TaskRef); err != nil {
			return task, err
		}
	}
	if s.doing != destroy && task.State == vcenter.TaskError && virtualmachine.Already(s.doing, task.Err) {
		task.State = vcenter.TaskSuccess
	}
	return task, nil
}

// taskFailed records the failure and retries after a delay, because no event reports that a full datastore or a broken host was
// fixed.
func (r *Reconciler) taskFailed(s *scope, task vcenter.Task) (reconcile.Progress, error) {
	if errors.Is(task.Err, vcenter.ErrDuplicateName) {
		return r.nameConflict(s)
	}
	reason := infrav1.VSphereVMVirtualMachineTaskFailedReason
	if errors.Is(task.Err, vcenter.ErrForbidden) {
		reason = infrav1.VSphereVMVirtualMachinePrivilegeMissingReason
	}
	if why, ok := virtualmachine.HardwareRefused(s.vm.Spec, s.observed.Cluster, s.doing, task.Err); ok {
		return r.failAndRetry(s, why.Reason, why.Message), nil
	}
	return r.failAndRetry(s, reason, failureOf(task)), nil
}

// failureOf returns what failed and why. It leaves out the task's reference, which differs with each attempt.
func failureOf(task vcenter.Task) string {
	return fmt.Sprintf("%s: %v", cmp.Or(task.Method, "task"), task.Err)
}

// nameConflict handles a name conflict in the folder, found in the inventory or reported by vCenter, which also sees objects that
// this account cannot. If the object is our own clone from before a restart that lost its task, the next lookup in the
// inventory finds it.
func (r *Reconciler) nameConflict(s *scope) (reconcile.Progress, error) {
	if s.found {
		return reconcile.Proceed, nil
	}
	return r.failAndRetry(s, infrav1.VSphereVMVirtualMachineNameConflictReason, fmt.Sprintf(
		"folder %s already contains an object named %s that does not belong to this VSphereVM: rename or remove it, or delete the Machine",
		cmp.Or(s.vm.Spec.Folder, "of the datacenter"), s.vm.Name)), nil
}
