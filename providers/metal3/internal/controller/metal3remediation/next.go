// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	"time"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// drainCheck is the interval at which the Pods of an out-of-service Node are listed. A watch on the Pods of a whole cluster would
// be too expensive for a process that takes a minute.
const drainCheck = 5 * time.Second

// situation holds everything that the next step depends on.
type situation struct {
	phase infrav1.RemediationPhase
	// tries is the number of attempts, including the current one; limit is the maximum.
	tries, limit int32
	// elapsed is the time since the current attempt began; timeout is its maximum.
	elapsed, timeout time.Duration
	// unfinished is true while the host and the Node may not be restored.
	unfinished bool
	host       hostState
	node       nodeState
	// taintUnsupported is true if the Node's Kubernetes does not support the out-of-service taint: the Node must be deleted instead.
	taintUnsupported bool
	// backedUp is true if the Node was deleted, or is about to be, and its labels and annotations are saved.
	backedUp bool
}

// hostState is the observed state of the machine's host.
type hostState struct {
	// found is false if the machine has no host, or its host no longer exists.
	found bool
	// wanted is true if the host should run; mustRun is true if it must not be powered off.
	wanted, mustRun bool
	// powerOffRequested is true if the remediation keeps the host off; running is true if the host is still, or again, powered on.
	powerOffRequested, running bool
}

// nodeState is the progress of taking a Node out of service.
type nodeState string

const (
	nodeDeleted     nodeState = "deleted"
	nodeUnreachable nodeState = "unreachable" // like the whole workload cluster
	nodeInService   nodeState = "in service"
	nodeDraining    nodeState = "draining"
	nodeDrained     nodeState = "drained"
)

// action is what a step does; "" means nothing.
type action string

const (
	// powerOff powers the host off.
	powerOff action = "power off"
	// powerOn allows the host to be powered on.
	powerOn action = "power on"
	// restart reboots a host that must not be powered off.
	restart action = "restart"
	// fence taints the Node as out of service, so that Kubernetes moves its Pods and volumes.
	fence action = "take out of service"
	// backUp saves the labels and annotations of the Node.
	backUp action = "remember labels and annotations"
	// deleteNode replaces fence where Kubernetes does not support the taint.
	deleteNode action = "delete the Node"
	// finish reverts fence and removes the finalizer of the remediation.
	finish action = "take back into service"
	// replace requests replacement of the machine by its owner and excludes the host from use.
	replace action = "have the machine replaced"
)

// step is an action and the resulting state. Actions must be idempotent, because the phase is written afterwards.
type step struct {
	act action
	// phase is the next phase; "" keeps the current one.
	phase infrav1.RemediationPhase
	// try starts a new attempt and restarts the timeout.
	try bool
	// after is the time after which to requeue without an event.
	after time.Duration
}

// next returns the next step.
func (s situation) next() step {
	switch s.phase {
	case "":
		return step{phase: infrav1.RemediationRunning, try: true}
	case infrav1.RemediationRunning:
		return s.running()
	case infrav1.RemediationWaiting:
		return s.waiting()
	default: // final phases; only cleanup remains
		if s.host.powerOffRequested {
			return step{act: powerOn}
		}
		return step{}
	}
}

// running powers the host off and takes the Node out of service in the meantime.
func (s situation) running() step {
	switch {
	case !s.host.found:
		return step{act: replace, phase: infrav1.RemediationDeletingMachine}
	case !s.host.wanted:
		return step{phase: infrav1.RemediationFailed}
	case s.remaining() <= 0:
		return s.retryOrReplace()
	case s.host.mustRun:
		return step{act: restart, phase: infrav1.RemediationWaiting}
	case !s.host.powerOffRequested:
		return step{act: powerOff, after: s.remaining()}
	case s.host.running:
		return step{after: s.remaining()}
	}
	return s.fencing()
}

// fencing takes at most half of the timeout: the host needs the rest to come back. An unreachable cluster is given only a tenth,
// because its only API server may be on this host.
func (s situation) fencing() step {
	remaining := s.timeout/2 - s.elapsed
	if s.node == nodeUnreachable {
		remaining = s.timeout/10 - s.elapsed
	}
	switch {
	case remaining <= 0, s.node == nodeDeleted, s.node == nodeDrained:
		return step{phase: infrav1.RemediationWaiting}
	case s.node == nodeInService:
		return step{act: s.evacuation(), after: drainCheck}
	case s.node == nodeDraining:
		return step{after: min(drainCheck, remaining)}
	default:
		return step{after: remaining}
	}
}

// evacuation returns the action that evacuates a Node. Its labels and annotations are stored before it is deleted.
func (s situation) evacuation() action {
	switch {
	case !s.taintUnsupported:
		return fence
	case !s.backedUp:
		return backUp
	default:
		return deleteNode
	}
}

// waiting powers the host on and restores the Node. The MachineHealthCheck deletes the remediation when the Node is healthy;
// until then the timeout is running.
func (s situation) waiting() step {
	switch {
	case !s.host.found:
		return step{act: replace, phase: infrav1.RemediationDeletingMachine}
	case s.remaining() <= 0:
		return s.retryOrReplace()
	case s.host.powerOffRequested:
		return step{act: powerOn, after: s.remaining()}
	case s.host.running && s.unfinished && s.node != nodeUnreachable && !s.awaitsNode():
		return step{act: finish, after: s.remaining()}
	}
	return step{after: s.remaining()}
}

// awaitsNode reports whether a deleted Node must still come back to have its labels and annotations restored.
func (s situation) awaitsNode() bool {
	return s.backedUp && s.node == nodeDeleted
}

func (s situation) retryOrReplace() step {
	if s.tries < s.limit {
		return step{phase: infrav1.RemediationRunning, try: true}
	}
	return step{act: replace, phase: infrav1.RemediationDeletingMachine}
}

func (s situation) remaining() time.Duration {
	return s.timeout - s.elapsed
}
