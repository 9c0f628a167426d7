// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"

	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/status"
)

// pauseHost stops the host's operator too when the whole cluster is paused, as it is for a move to another management
// cluster. The condition says so only afterwards.
func (r *Reconciler) pauseHost(ctx context.Context, s *scope) (progress, error) {
	r.Hosts.Book.Forget(s.key())
	if s.host != nil && s.cluster != nil && ptr.Deref(s.cluster.Spec.Paused, false) {
		if err := r.Hosts.Pause(ctx, s.host); err != nil {
			unassociated(s, infrav1.Metal3MachineHostPauseAnnotationSetFailedReason, err.Error())
			return wait, err
		}
	}
	status.Paused(s.metal3, true)
	return wait, nil
}

// resumeHost ends the pause of the host, if it is this provider's.
func (r *Reconciler) resumeHost(ctx context.Context, s *scope) (progress, error) {
	if s.host == nil || s.cluster == nil {
		return proceed, nil
	}
	if err := r.Hosts.Resume(ctx, s.host, s.cluster.Name); err != nil {
		unassociated(s, infrav1.Metal3MachineHostPauseAnnotationRemoveFailedReason, err.Error())
		return wait, err
	}
	return proceed, nil
}
