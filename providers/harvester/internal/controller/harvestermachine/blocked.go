// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
)

const (
	// rejectionGrace is how long Harvester must reject a deletion before the object is left behind: Harvester's webhooks can lag behind
	// deletions.
	rejectionGrace = 10 * time.Second
	// failureGrace is how long a deletion must fail without progress before the error counts as permanent.
	failureGrace = time.Minute
)

// handleDeletionError reports what blocks the deletion: at once if it needs user action, and otherwise once a usually transient error has
// lasted for failing. Only then is anything left behind, if the user allowed it.
func (r *Reconciler) handleDeletionError(ctx context.Context, s *scope, err error) (reconcile.Progress, error) {
	failed := r.failedFor(s.key(), time.Now())
	problem, is := harvester.Denied(err), metav1.ConditionUnknown
	removed := (*patch.RemovedError)(nil)
	switch {
	case problem != nil:
	case errors.As(err, &removed):
		problem = &harvester.Problem{Message: removed.Error()}
	case reconcile.IsRejected(err):
		problem, is = &harvester.Problem{Message: fmt.Sprintf("%v: fix the cause that Harvester reports", err)}, metav1.ConditionFalse
	case failed >= failureGrace:
		problem = &harvester.Problem{Message: err.Error()}
	default:
		s.reportDeletionStarted()
		p, err := s.explain(err)
		if p == reconcile.Wait && err == nil {
			p = reconcile.Retry(reconcile.RefusedPause)
		}
		return p, err
	}
	again := reconcile.Retry(min(max(failed, time.Second), reconcile.RefusedPause))
	if s.abandoned() && failed < rejectionGrace {
		s.reportDeletionStarted()
		return again, nil
	}
	_, err = r.reportBlocked(ctx, s, problem, is)
	return again, err
}

// failedFor returns for how long the deletion has failed, regardless of the step.
func (r *Reconciler) failedFor(key client.ObjectKey, now time.Time) time.Duration {
	since, _ := r.failingSince.LoadOrStore(key, now)
	return now.Sub(since.(time.Time))
}

// abandoned reports whether the user allows objects that cannot be deleted to stay on Harvester.
func (s *scope) abandoned() bool {
	_, abandoned := faultlinev1.Lookup(s.infra.Annotations, infrav1.AbandonAnnotation)
	return abandoned
}

// reportBlocked keeps a machine that cannot be deleted completely until the user allows its objects to stay. Nothing is abandoned
// while the connection to Harvester is being established.
func (r *Reconciler) reportBlocked(ctx context.Context, s *scope, problem *harvester.Problem, is metav1.ConditionStatus) (reconcile.Progress, error) {
	switch {
	case problem.Pending:
	case s.abandoned():
		r.warn(s, "Abandoned", "Delete", "Left on Harvester because of the annotation %s: %s", infrav1.AbandonAnnotation, s.leftovers())
		return r.removeFinalizers(ctx, s)
	default:
		message := fmt.Sprintf("%s; or set the annotation %s to delete the machine and leave on Harvester: %s",
			problem.Message, infrav1.AbandonAnnotation, s.leftovers())
		conditions.Set(s.infra, metav1.Condition{
			Type: infrav1.InfrastructureReadyCondition, Status: is, Reason: infrav1.DeletionBlockedReason, Message: message,
		})
	}
	return reconcile.Wait, nil
}

// leftovers describes the machine's objects that may be on Harvester.
func (s *scope) leftovers() string {
	namespace := "its target namespace"
	if s.infraCluster != nil {
		namespace = "namespace " + s.infraCluster.Spec.TargetNamespace
	}
	left := fmt.Sprintf("Secret %s in %s, and PersistentVolumeClaims %s there with the label %s=%s",
		virtualmachine.SecretName(virtualmachine.Name(s.infra)), namespace, strings.Join(virtualmachine.KnownClaims(s.infra), ", "),
		infrav1.MachineIDLabel, s.infra.Annotations[infrav1.MachineIDAnnotation])
	if !s.stopped {
		left = fmt.Sprintf("VirtualMachine %s and %s", virtualmachine.Name(s.infra), left)
	}
	if s.infra.Status.AllocatedIPAddress != "" {
		left += fmt.Sprintf(", and address %s in IPPool %s", s.infra.Status.AllocatedIPAddress, s.infra.Status.AllocatedPoolRef)
	}
	return left
}
