// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// DeletionPhase returns how far the deletion of a Machine has come, from the reason of its condition Deleting: MoveDeleting until it may be
// drained, MoveDrainable while it is, MoveDrained while volumes or a hook still hold it, MoveTerminable from the moment that its
// infrastructure may go. It returns "" for a Machine that is not being deleted.
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

// begun returns the last phase that is known to have begun. It stands while the condition has no reason of its own: the controller
// has not come to the Machine yet, or met an error.
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
