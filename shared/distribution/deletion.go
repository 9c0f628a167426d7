// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// DeletionPhase returns the phase of a Machine's deletion from the reason of its Deleting condition: MoveDeleting until it may be
// drained, MoveDrainable while it is drained, MoveDrained while volumes or a hook still hold it, and MoveTerminable once its
// infrastructure may be deleted. It returns "" for a Machine that is not being deleted.
func DeletionPhase(machine *clusterv1.Machine) faultlinev1.MovePhase {
	if machine.DeletionTimestamp.IsZero() {
		return ""
	}
	switch conditions.GetReason(machine, clusterv1.MachineDeletingCondition) {
	case clusterv1.MachineDeletingWaitingForPreDrainHookReason:
		return faultlinev1.MoveDeleting
	case clusterv1.MachineDeletingDrainingNodeReason:
		return faultlinev1.MoveDrainable
	case clusterv1.MachineDeletingWaitingForVolumeDetachReason, clusterv1.MachineDeletingWaitingForPreTerminateHookReason:
		return faultlinev1.MoveDrained
	case clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, clusterv1.MachineDeletingWaitingForBootstrapDeletionReason,
		clusterv1.MachineDeletingDeletingNodeReason, clusterv1.MachineDeletingDeletionCompletedReason:
		return faultlinev1.MoveTerminable
	}
	return begun(machine.Status.Deletion)
}

// begun returns the last phase that is known to have begun. It is used while the condition has no reason of its own, because the
// controller has not reconciled the Machine yet or met an error.
func begun(status *clusterv1.MachineDeletionStatus) faultlinev1.MovePhase {
	switch {
	case status == nil:
		return faultlinev1.MoveDeleting
	case !status.WaitForPreTerminateHookStartTime.IsZero(), !status.WaitForNodeVolumeDetachStartTime.IsZero():
		return faultlinev1.MoveDrained
	case !status.NodeDrainStartTime.IsZero():
		return faultlinev1.MoveDrainable
	}
	return faultlinev1.MoveDeleting
}
