// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/steps"
)

// unmanageable says why vCenter can do nothing to a virtual machine. A lost host may come back by itself; what else is wrong
// lasts until somebody repairs it.
func unmanageable(vm vcenter.VM) (reason, why string) {
	if !vm.HostConnected {
		return infrav1.VSphereVMVirtualMachineWaitingForHostReason, fmt.Sprintf("vCenter has lost host %s of virtual machine %s", vm.Host, vm.Path)
	}
	reason = infrav1.VSphereVMVirtualMachineUnmanageableReason
	switch vm.Connection {
	case vcenter.Orphaned:
		return reason, fmt.Sprintf("Virtual machine %s is orphaned: host %s does not know it any more", vm.Path, vm.Host)
	case vcenter.Inaccessible:
		return reason, fmt.Sprintf("Virtual machine %s is inaccessible: host %s cannot read its files at %s", vm.Path, vm.Host, vm.File)
	case vcenter.Invalid:
		return reason, fmt.Sprintf("Virtual machine %s is invalid: host %s can make nothing of its files at %s", vm.Path, vm.Host, vm.File)
	default:
		return infrav1.VSphereVMVirtualMachineWaitingForHostReason, fmt.Sprintf("vCenter is not in touch with virtual machine %s on host %s yet", vm.Path, vm.Host)
	}
}

// byHand is the way out where vCenter refuses to remove a virtual machine that it cannot manage.
func byHand(vm vcenter.VM) string {
	return fmt.Sprintf("make sure that it does not run on host %s, then remove it from vCenter's inventory", vm.Host)
}

// powerOffUnmanageable ends a machine that may run on although its files cannot be read; its guest is not asked.
func (r *Reconciler) powerOffUnmanageable(ctx context.Context, s *scope) (steps.Progress, error) {
	s.doing = powerOff
	task, err := s.session.PowerOff(ctx, s.observed.Ref)
	if err != nil {
		return r.refusedUnmanageable(s, "powering off", err)
	}
	r.started(s, task, powerOff)
	return steps.Wait, nil
}

// unregister removes a machine that cannot be destroyed, because its host does not know it or its files cannot be read.
func (r *Reconciler) unregister(ctx context.Context, s *scope) (steps.Progress, error) {
	err := s.session.Unregister(ctx, s.observed.Ref)
	if errors.Is(err, vcenter.ErrNotFound) {
		return steps.Retry(r.RetryAfter), nil // that was done, and the inventory does not show it yet
	}
	if err != nil {
		return r.refusedUnmanageable(s, "unregistering", err)
	}
	_, why := unmanageable(s.observed)
	r.warn(s, "Unregistered", "Delete", "%s: it was removed from vCenter's inventory; files that are left at %s have to be deleted by hand", why, s.observed.File)
	return steps.Retry(r.RetryAfter), nil
}

func (r *Reconciler) refusedUnmanageable(s *scope, doing string, err error) (steps.Progress, error) {
	if !userMistake(err) {
		return r.refused(s, doing, err)
	}
	reason, why := unmanageable(s.observed)
	r.fail(s, reason, fmt.Sprintf("%s; %s it: %v: %s", why, doing, err, byHand(s.observed)))
	return steps.Retry(r.RetryAfter), nil
}
