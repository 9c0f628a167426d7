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

// connect finds the session and the virtual machine in its inventory.
func (r *Reconciler) connect(ctx context.Context, s *scope) (reconcile.Progress, error) {
	session, err := r.VCenters.ForVM(ctx, s.cluster, s.vm)
	if err != nil {
		status.Unseen(s.vm, connection.Condition(err))
		if connection.Waits(err) {
			return reconcile.Retry(connection.AskAgain(err)), nil
		}
		return reconcile.Wait, err
	}
	conditions.Set(s.vm, connection.Condition(nil))
	s.session = session
	if err := r.recognise(ctx, s); err != nil {
		return reconcile.Wait, err
	}
	return reconcile.Proceed, nil
}

// settleTask waits for the task in flight, and forgets it when it has ended.
func (r *Reconciler) settleTask(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if left := r.pausing(s); left > 0 {
		return reconcile.Retry(left), r.observeInService(ctx, s)
	}
	if s.vm.Status.TaskRef == "" {
		return reconcile.Proceed, nil
	}
	s.doing = s.vm.Status.TaskOperation
	task, err := r.task(ctx, s)
	if errors.Is(err, vcenter.ErrNotFound) {
		// vCenter forgets old tasks. What the task did, if anything, is in the inventory.
		r.settled(s)
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
		if s.doing == configure { // else the condition says so, unless it still tells of an attempt that failed
			s.finishedReason = infrav1.VSphereVMVirtualMachineConfiguringReason
		}
		r.failures.forget(client.ObjectKeyFromObject(s.vm))
		r.settled(s)
		return reconcile.Proceed, nil
	case vcenter.TaskError:
		r.settled(s)
		return r.taskFailed(s, task)
	default:
		return reconcile.Wait, nil
	}
}

// adopt records what a clone has made. Its own result is known before the inventory shows the machine, or its UUIDs, and
// also if it never does. It returns whether the result was on record already and cannot be seen still.
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
		s.vm.Status.VMRef = before // vCenter restored from a backup uses the names of tasks anew
	}
	return false
}

// visible reports whether the inventory shows what a task that ended well has done. Until it does the task stays recorded,
// else it would be started again. Of what was started before a restart the inventory of the new session shows the effect.
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

// task is the task in flight. It has succeeded, too, if what it was to do had been done already.
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

// taskFailed records the failure and tries again after a pause, because a full datastore or a host in trouble sends no
// event when it is repaired.
func (r *Reconciler) taskFailed(s *scope, task vcenter.Task) (reconcile.Progress, error) {
	if errors.Is(task.Err, vcenter.ErrDuplicateName) {
		return r.nameTaken(s)
	}
	reason := infrav1.VSphereVMVirtualMachineTaskFailedReason
	if errors.Is(task.Err, vcenter.ErrForbidden) {
		reason = infrav1.VSphereVMVirtualMachinePrivilegeMissingReason
	}
	if why, ok := virtualmachine.HardwareRefused(s.vm.Spec, s.observed.Cluster, s.doing, task.Err); ok {
		return r.again(s, why.Reason, why.Message), nil
	}
	return r.again(s, reason, failureOf(task)), nil
}

// failureOf says what failed and why. It leaves out the number of the task, which differs with each attempt.
func failureOf(task vcenter.Task) string {
	return fmt.Sprintf("%s: %v", cmp.Or(task.Method, "task"), task.Err)
}

// nameTaken is reached when the folder has the name already, be it seen in the inventory or said by vCenter, which knows
// also what this account does not see. If that is our own clone, started before a restart that lost its task, the next look
// at the inventory finds it.
func (r *Reconciler) nameTaken(s *scope) (reconcile.Progress, error) {
	if s.found {
		return reconcile.Proceed, nil
	}
	return r.again(s, infrav1.VSphereVMVirtualMachineNameConflictReason, fmt.Sprintf(
		"folder %s has something of the name %s that is not this VSphereVM's: rename or remove it, or delete this Machine",
		cmp.Or(s.vm.Spec.Folder, "of the datacenter"), s.vm.Name)), nil
}
