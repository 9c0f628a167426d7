// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

func TestDeletionPhaseWithoutTimestamp(t *testing.T) {
	t.Parallel()
	machine := &clusterv1.Machine{}
	if got := distribution.DeletionPhase(machine); got != "" {
		t.Errorf("got %q for a Machine that is not being deleted", got)
	}
	machine.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineDeletingDrainingNodeReason,
	}}
	if got := distribution.DeletionPhase(machine); got != "" {
		t.Errorf("got %q for a Machine without a deletionTimestamp", got)
	}
}

func TestDeletionPhase(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]faultlinev1.MovePhase{
		"":         faultlinev1.MoveDeleting,
		"Deleting": faultlinev1.MoveDeleting,
		"Unheard":  faultlinev1.MoveDeleting,
		clusterv1.MachineDeletingWaitingForPreDrainHookReason:           faultlinev1.MoveDeleting,
		clusterv1.MachineDeletingDrainingNodeReason:                     faultlinev1.MoveDrainable,
		clusterv1.MachineDeletingWaitingForVolumeDetachReason:           faultlinev1.MoveDrained,
		clusterv1.MachineDeletingWaitingForPreTerminateHookReason:       faultlinev1.MoveDrained,
		clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason: faultlinev1.MoveTerminable,
		clusterv1.MachineDeletingWaitingForBootstrapDeletionReason:      faultlinev1.MoveTerminable,
		clusterv1.MachineDeletingDeletingNodeReason:                     faultlinev1.MoveTerminable,
		clusterv1.MachineDeletingDeletionCompletedReason:                faultlinev1.MoveTerminable,
	} {
		if got := distribution.DeletionPhase(deleting(reason, nil)); got != want {
			t.Errorf("%s: got %s, want %s", reason, got, want)
		}
	}
}

func TestDeletionPhaseAfterError(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, test := range map[string]struct {
		status *clusterv1.MachineDeletionStatus
		want   faultlinev1.MovePhase
	}{
		"before anything began":     {nil, faultlinev1.MoveDeleting},
		"held by a pre-drain hook":  {&clusterv1.MachineDeletionStatus{WaitForPreDrainHookStartTime: now}, faultlinev1.MoveDeleting},
		"drained":                   {&clusterv1.MachineDeletionStatus{NodeDrainStartTime: now}, faultlinev1.MoveDrainable},
		"waiting for volumes":       {&clusterv1.MachineDeletionStatus{NodeDrainStartTime: now, WaitForNodeVolumeDetachStartTime: now}, faultlinev1.MoveDrained},
		"held before it terminates": {&clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: now}, faultlinev1.MoveDrained},
	} {
		if got := distribution.DeletionPhase(deleting(clusterv1.MachineDeletingInternalErrorReason, test.status)); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

func deleting(reason string, status *clusterv1.MachineDeletionStatus) *clusterv1.Machine {
	now := metav1.Now()
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}
	machine.Status.Deletion = status
	if reason != "" {
		machine.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: reason}}
	}
	return machine
}
