// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// connect finds the session and the virtual machine in its inventory.
func (r *Reconciler) connect(ctx context.Context, s *scope) (progress, error) {
	session, err := r.VCenters.ForServer(ctx, s.cluster, s.vm.Spec.Server, s.vm.Spec.Thumbprint)
	if err == nil || !serves(s.vm) {
		conditions.Set(s.vm, connection.Condition(err))
	}
	if err != nil {
		if connection.Waits(err) {
			return wait, nil
		}
		return wait, err
	}
	s.session = session
	s.observed, s.found = find(session, s.vm)
	return proceed, nil
}

// serves reports whether the machine runs and is to go on: then an outage of vCenter takes nothing from it but the view,
// which is said of the VSphereCluster. To say it of thousands of machines keeps the API server busy for longer than most
// outages last.
func serves(vm *infrav1.VSphereVM) bool {
	return ptr.Deref(vm.Status.Ready, false) && vm.DeletionTimestamp.IsZero()
}

// find looks by BIOS UUID first: a VSphereVM that was moved to another management cluster has another UID than the one
// its virtual machine was created with.
func find(session *vcenter.Session, vm *infrav1.VSphereVM) (vcenter.VM, bool) {
	if vm.Spec.BiosUUID != "" {
		return session.VMByBiosUUID(vm.Spec.BiosUUID)
	}
	return session.VMByInstanceUUID(string(vm.UID))
}

// settleTask waits for the task in flight, and forgets it when it has ended.
func (r *Reconciler) settleTask(ctx context.Context, s *scope) (progress, error) {
	if retry := s.vm.Status.RetryAfter; !retry.IsZero() {
		if left := retry.Sub(r.Clock.Now()); left > 0 {
			return progress{after: left}, nil
		}
		s.vm.Status.RetryAfter.Reset()
	}
	if s.vm.Status.TaskRef == "" {
		return proceed, nil
	}
	task, err := r.task(ctx, s)
	if errors.Is(err, vcenter.ErrNotFound) {
		// vCenter forgets old tasks. What the task did, if anything, is in the inventory.
		r.settled(s)
		return proceed, nil
	}
	if err != nil {
		return wait, err
	}
	switch task.State {
	case vcenter.TaskSuccess:
		if !r.visible(s, task) {
			return s.waitForInventory(), nil
		}
		s.finished, s.finishedReason = task, conditions.GetReason(s.vm, infrav1.VSphereVMVirtualMachineProvisionedCondition)
		r.settled(s)
		return proceed, nil
	case vcenter.TaskError:
		r.settled(s)
		return r.taskFailed(s, task)
	default:
		return wait, nil
	}
}

// visible reports whether the inventory shows what a task that ended well has done. Until it does the task stays recorded,
// else it would be started again. Only a clone has a result, so it is known after a restart too; of the other tasks the
// inventory of a new session shows the effect.
func (r *Reconciler) visible(s *scope, task vcenter.Task) bool {
	if task.Result != "" {
		return s.found
	}
	switch r.tasks.operation(inFlight(s.vm)) {
	case powerOn:
		return !s.found || s.observed.Power == vcenter.PoweredOn
	case powerOff:
		return !s.found || s.observed.Power != vcenter.PoweredOn
	case destroy:
		return !s.found
	default:
		return true
	}
}

func (r *Reconciler) task(ctx context.Context, s *scope) (vcenter.Task, error) {
	if task, ok := s.session.Task(s.vm.Status.TaskRef); ok {
		return task, nil
	}
	return s.session.LookupTask(ctx, s.vm.Status.TaskRef)
}

// taskFailed records the failure and tries again after a pause, because a full datastore or a host in trouble sends no
// event when it is mended.
func (r *Reconciler) taskFailed(s *scope, task vcenter.Task) (progress, error) {
	if errors.Is(task.Err, vcenter.ErrDuplicateName) {
		return r.nameTaken(s)
	}
	message := fmt.Sprintf("Task %s: %v", task.Ref, task.Err)
	r.fail(s, infrav1.VSphereVMVirtualMachineTaskFailedReason, message)
	s.vm.Status.RetryAfter.Time = r.Clock.Now().Add(r.RetryAfter)
	return progress{after: r.RetryAfter}, nil
}

// nameTaken is reached when vCenter refuses a clone because its folder has the name already. If that is our own clone,
// started before a restart that lost its task, the next look at the inventory finds it.
func (r *Reconciler) nameTaken(s *scope) (progress, error) {
	if s.found {
		return proceed, nil
	}
	r.fail(s, infrav1.VSphereVMVirtualMachineNameConflictReason, fmt.Sprintf(
		"folder has a virtual machine %s that is not this VSphereVM's: rename or remove it, or delete this Machine", s.vm.Name))
	return progress{after: r.RetryAfter}, nil
}
