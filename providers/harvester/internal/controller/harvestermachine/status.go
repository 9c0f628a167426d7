// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// notCreated reports why the virtual machine does not exist.
func notCreated(s *scope, reason, message string) {
	status.False(s.infra, infrav1.MachineCreatedCondition, reason, message)
}

func unknown(s *scope, condition, reason, message string) {
	conditions.Set(s.infra, metav1.Condition{Type: condition, Status: metav1.ConditionUnknown, Reason: reason, Message: message})
}

// hold reports why the virtual machine does not exist, and waits. It records an event if the reason is new.
func (r *Reconciler) hold(s *scope, why distribution.Refusal) reconcile.Progress {
	if conditions.GetReason(s.infra, infrav1.MachineCreatedCondition) != why.Reason {
		r.warn(s, why.Reason, "Create", "%s", why.Message)
	}
	notCreated(s, why.Reason, why.Message)
	if conditions.IsUnknown(s.infra, infrav1.InfrastructureReadyCondition) { // it reported the connection, which now exists
		conditions.Delete(s.infra, infrav1.InfrastructureReadyCondition)
	}
	return reconcile.Wait
}

// reportUnreadable reports that Harvester cannot be read, for a machine that is not in service yet. Other conditions stay, as they may
// still be true.
func (s *scope) reportUnreadable(problem *harvester.Problem) {
	if problem.Pending && conditions.Has(s.infra, infrav1.InfrastructureReadyCondition) {
		return // the connection is about to be established
	}
	status.MarkUnknown(s.infra, metav1.Condition{
		Type: infrav1.InfrastructureReadyCondition, Status: metav1.ConditionUnknown, Reason: problem.Reason, Message: problem.Message,
	})
}

// reportNotStored reports that the API server does not store what must be stored before anything is created or changed on Harvester.
func (s *scope) reportNotStored(removed *patch.RemovedError) {
	message := "nothing is changed on Harvester: " + removed.Error()
	if s.vm == nil && s.infra.Spec.ProviderID == "" {
		notCreated(s, infrav1.AnnotationsRemovedReason, message)
		return
	}
	unknown(s, infrav1.InfrastructureReadyCondition, infrav1.AnnotationsRemovedReason, message)
}

// explain turns errors that are not failures into conditions: a cache that has not synced, a missing right, and metadata that the API
// server does not store.
func (s *scope) explain(err error) (reconcile.Progress, error) {
	if errors.Is(err, harvester.ErrSyncing) {
		s.queued = true
		return reconcile.Wait, nil
	}
	if removed := (*patch.RemovedError)(nil); errors.As(err, &removed) {
		s.reportNotStored(removed)
		return reconcile.Retry(removed.Again()), nil
	}
	if problem := harvester.Denied(err); problem != nil {
		if harvester.DeniedSight(err) {
			s.reportUnreadable(problem)
		} else { // only the machine's condition shows this
			unknown(s, infrav1.InfrastructureReadyCondition, problem.Reason, problem.Message)
		}
		return reconcile.Retry(reconcile.RefusedPause), nil
	}
	return reconcile.Wait, err
}

const (
	// turn is how long the status of a machine that waits for a slot is not written.
	turn = 10 * time.Second
	// stages is how long the status of a starting virtual machine is not written: it may pass through all stages in this time.
	stages = 5 * time.Second
)

// debounce returns how long writing the conditions can be delayed because they are about to change: no client waits for them until they
// report that the machine is provisioned, or why not.
func debounce(s *scope) time.Duration {
	switch {
	case s.queued:
		return turn
	case s.startingUp && !s.provisioned():
		return stages
	default:
		return 0
	}
}

// summarize sets Ready. Metadata and spec are written first, because that changes the generation, and all conditions, which were just
// determined, must observe the new one. Conditions that were not reached yet do not count; the condition that blocks them does.
func (r *Reconciler) summarize(ctx context.Context, s *scope) error {
	if err := s.patch.Tolerate(s.patch.ApplySpec(ctx, r.Client, s.infra)); err != nil {
		return err
	}
	for i := range s.infra.Status.Conditions {
		s.infra.Status.Conditions[i].ObservedGeneration = s.infra.Generation
	}
	var types []string
	for _, condition := range []string{
		infrav1.MachineCreatedCondition, infrav1.VMIPAllocatedCondition, infrav1.VMProvisioningReadyCondition,
		infrav1.VMRunningCondition, infrav1.InfrastructureReadyCondition,
	} {
		if conditions.Has(s.infra, condition) {
			types = append(types, condition)
		}
	}
	if len(types) == 0 {
		types = []string{infrav1.MachineCreatedCondition}
	}
	return status.Summarize(s.infra, types...)
}
