// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// pauseHost also pauses the host if the whole cluster is paused, as it is for a move to another management cluster. It sets the
// Paused condition only afterwards.
func (r *Reconciler) pauseHost(ctx context.Context, s *scope) (reconcile.Progress, error) {
	r.Hosts.Inventory.Forget(s.key())
	if s.host != nil && s.cluster != nil && ptr.Deref(s.cluster.Spec.Paused, false) {
		if err := r.Hosts.Pause(ctx, s.host); err != nil {
			markUnassociated(s, infrav1.Metal3MachineHostPauseAnnotationSetFailedReason, writeFailure(s.host.Name, err))
			return reconcile.Wait, err
		}
	}
	status.Paused(s.infra, true)
	if s.host != nil && hosts.PausedByOthers(s.host) {
		conditions.Set(s.infra, metav1.Condition{
			Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason,
			Message: fmt.Sprintf("BareMetalHost %s was paused by another actor before and can be moved; it stays paused until the annotation %s is removed",
				s.host.Name, bmov1alpha1.PausedAnnotation),
		})
	}
	return reconcile.Wait, nil
}

// resumeHost unpauses the host, if this provider has paused it.
func (r *Reconciler) resumeHost(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.host == nil || s.cluster == nil {
		return reconcile.Proceed, nil
	}
	if err := s.patch.Tolerate(r.Hosts.Resume(ctx, s.host, s.cluster.Name)); err != nil {
		markUnassociated(s, infrav1.Metal3MachineHostPauseAnnotationRemoveFailedReason, writeFailure(s.host.Name, err))
		return reconcile.Wait, err
	}
	return reconcile.Proceed, nil
}

// writeFailure returns why a host could not be written, and how to fix it if user action is required.
func writeFailure(host string, err error) string {
	if reconcile.IsRejected(err) || reconcile.IsTransient(err) {
		return reconcile.RejectedMessage("BareMetalHost", host, err)
	}
	return err.Error()
}
