// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// powerOffUnmanageable powers off a machine that may run although its files cannot be read. It does not shut down the guest.
func (r *Reconciler) powerOffUnmanageable(ctx context.Context, s *scope) (reconcile.Progress, error) {
	s.doing = powerOff
	task, err := s.session.PowerOff(ctx, s.observed.Ref)
	if err != nil {
		return r.refusedUnmanageable(s, "powering off", err)
	}
	r.recordTask(s, task, powerOff)
	return reconcile.Wait, nil
}

// unregister removes a machine that cannot be destroyed, because it is not registered on its host or its files cannot be read.
func (r *Reconciler) unregister(ctx context.Context, s *scope) (reconcile.Progress, error) {
	err := s.session.Unregister(ctx, s.observed.Ref)
	if errors.Is(err, vcenter.ErrNotFound) {
		return reconcile.Retry(r.RetryAfter), nil // already unregistered; the inventory still shows it
	}
	if err != nil {
		return r.refusedUnmanageable(s, "unregistering", err)
	}
	_, why := virtualmachine.Unmanageable(s.observed)
	r.warn(s, "Unregistered", "Delete", "%s: it was removed from vCenter's inventory; delete any files left at %s manually", why, s.observed.File)
	return reconcile.Retry(r.RetryAfter), nil
}

func (r *Reconciler) refusedUnmanageable(s *scope, doing string, err error) (reconcile.Progress, error) {
	if !virtualmachine.UserMistake(err) {
		return r.refused(s, doing, err)
	}
	reason, why := virtualmachine.Unmanageable(s.observed)
	r.fail(s, reason, fmt.Sprintf("%s; %s it: %v: %s", why, doing, err, virtualmachine.ByHand(s.observed)))
	return reconcile.Retry(r.RetryAfter), nil
}
