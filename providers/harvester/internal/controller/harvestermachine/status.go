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

// notCreated shows why there is no virtual machine.
func notCreated(s *scope, reason, message string) {
	status.False(s.infra, infrav1.MachineCreatedCondition, reason, message)
}

func unknown(s *scope, condition, reason, message string) {
	conditions.Set(s.infra, metav1.Condition{Type: condition, Status: metav1.ConditionUnknown, Reason: reason, Message: message})
}

// hold shows why there is no virtual machine, and waits. An event tells of a reason that is new.
func (r *Reconciler) hold(s *scope, why distribution.Refusal) reconcile.Progress {
	if conditions.GetReason(s.infra, infrav1.MachineCreatedCondition) != why.Reason {
		r.warn(s, why.Reason, "Create", "%s", why.Message)
	}
	notCreated(s, why.Reason, why.Message)
	if conditions.IsUnknown(s.infra, infrav1.InfrastructureReadyCondition) { // it was about the connection, which there is
		conditions.Delete(s.infra, infrav1.InfrastructureReadyCondition)
	}
	return reconcile.Wait
}

// unseen shows that Harvester cannot be asked, of a machine that is not in service yet. Nothing else changes: what is known of it may be as
// true as before.
func (s *scope) unseen(problem *harvester.Problem) {
	if problem.Pending && conditions.Has(s.infra, infrav1.InfrastructureReadyCondition) {
		return // it is about to be asked
	}
	status.Unseen(s.infra, metav1.Condition{
		Type: infrav1.InfrastructureReadyCondition, Status: metav1.ConditionUnknown, Reason: problem.Reason, Message: problem.Message,
	})
}

// notStored shows that the API server does not keep what has to be stored before anything is made or changed on Harvester.
func (s *scope) notStored(removed *patch.RemovedError) {
	message := "nothing is done on Harvester: " + removed.Error()
	if s.vm == nil && s.infra.Spec.ProviderID == "" {
		notCreated(s, infrav1.AnnotationsRemovedReason, message)
		return
	}
	unknown(s, infrav1.InfrastructureReadyCondition, infrav1.AnnotationsRemovedReason, message)
}

// explain turns what is no failure into a condition: what is still being read, a right that is missing, and what the API server does not keep.
func (s *scope) explain(err error) (reconcile.Progress, error) {
	if errors.Is(err, harvester.ErrSyncing) {
		s.queued = true
		return reconcile.Wait, nil
	}
	if removed := (*patch.RemovedError)(nil); errors.As(err, &removed) {
		s.notStored(removed)
		return reconcile.Retry(removed.Again()), nil
	}
	if problem := harvester.Denied(err); problem != nil {
		if harvester.DeniedSight(err) {
			s.unseen(problem)
		} else { // nothing but the machine shows it
			unknown(s, infrav1.InfrastructureReadyCondition, problem.Reason, problem.Message)
		}
		return reconcile.Retry(reconcile.RefusedPause), nil
	}
	return reconcile.Wait, err
}

const (
	// turn is how long a machine that waits for its turn says nothing of it.
	turn = 10 * time.Second
	// stages is how long a virtual machine that comes up says nothing of how far it is: it may go through all stages meanwhile.
	stages = 5 * time.Second
)

// settle is how long the machine's conditions need not be written because they are about to change: nobody waits for them before they say
// that the machine is provisioned, or why it is not.
func settle(s *scope) time.Duration {
	switch {
	case s.queued:
		return turn
	case s.comesUp && !s.provisioned():
		return stages
	default:
		return 0
	}
}

// summarize sets Ready. Metadata and spec are written before, because that changes the generation which the conditions are said
// to be of: all of them have just been looked at. A condition that has not been reached yet does not count: the one that holds it
// up does.
func (r *Reconciler) summarize(ctx context.Context, s *scope) error {
	if err := s.patch.GoOn(s.patch.ApplySpec(ctx, r.Client, s.infra)); err != nil {
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
