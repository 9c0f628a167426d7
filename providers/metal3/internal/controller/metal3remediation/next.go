// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	"time"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// drainCheck is how often it is asked whether a Node that is out of service has been emptied. A watch on the Pods of a
// whole cluster would be a high price for the minute that it takes.
const drainCheck = 5 * time.Second

// situation is everything that the next step depends on.
type situation struct {
	phase infrav1.RemediationPhase
	// tries is how often it was tried, with the current one; limit is how often it may be.
	tries, limit int32
	// elapsed is the time since the current try began; timeout is what it may take.
	elapsed, timeout time.Duration
	// unfinished says that host and Node may not be as they were before.
	unfinished bool
	host       hostState
	node       nodeState
	// knowsNoTaint says that the Node's Kubernetes is too old for it to be taken out of service: it has to be deleted instead.
	knowsNoTaint bool
	// backedUp says that the Node was deleted, or is about to be, and that what it was marked with is remembered.
	backedUp bool
}

// hostState is what is known of the machine's host.
type hostState struct {
	// found is false when the machine has no host, or its host is gone.
	found bool
	// wanted says that the host is meant to run; mustRun that it may not be powered off.
	wanted, mustRun bool
	// keptOff says that it was told to be off; running that it still is, or is again.
	keptOff, running bool
}

// nodeState is how far a Node is on its way out of service.
type nodeState string

const (
	nodeGone        nodeState = "gone"
	nodeUnreachable nodeState = "unreachable" // as is the whole workload cluster
	nodeInService   nodeState = "in service"
	nodeDraining    nodeState = "draining"
	nodeDrained     nodeState = "drained"
)

// action is what to do to the world, "" for nothing.
type action string

const (
	// keepOff powers the host off.
	keepOff action = "power off"
	// letRun lets the host be powered on.
	letRun action = "power on"
	// restart reboots a host that may not be powered off.
	restart action = "restart"
	// fence tells the workload cluster that the Node does not run, so that its Pods and volumes can go elsewhere.
	fence action = "take out of service"
	// backUp remembers what the Node is marked with.
	backUp action = "remember labels and annotations"
	// deleteNode has the same end as fence where Kubernetes does not know that.
	deleteNode action = "delete the Node"
	// finish takes back what fence did and gives the remediation up for deletion.
	finish action = "take back into service"
	// replace leaves the machine to its owner and keeps others off the host.
	replace action = "have the machine replaced"
)

// step is what to do and where that leads. Every action can be done twice, because the phase is written after it.
type step struct {
	act action
	// phase is the next one, "" to stay.
	phase infrav1.RemediationPhase
	// try starts the clock again.
	try bool
	// after is when to look again although nothing has happened.
	after time.Duration
}

// next decides one step.
func (s situation) next() step {
	switch s.phase {
	case "":
		return step{phase: infrav1.RemediationRunning, try: true}
	case infrav1.RemediationRunning:
		return s.running()
	case infrav1.RemediationWaiting:
		return s.waiting()
	default: // the end; what is left over is cleared
		if s.host.keptOff {
			return step{act: letRun}
		}
		return step{}
	}
}

// running gets the host off, and the Node out of service meanwhile.
func (s situation) running() step {
	switch {
	case !s.host.found:
		return step{act: replace, phase: infrav1.RemediationDeletingMachine}
	case !s.host.wanted:
		return step{phase: infrav1.RemediationFailed}
	case s.remaining() <= 0:
		return s.again()
	case s.host.mustRun:
		return step{act: restart, phase: infrav1.RemediationWaiting}
	case !s.host.keptOff:
		return step{act: keepOff, after: s.remaining()}
	case s.host.running:
		return step{after: s.remaining()}
	}
	return s.fencing()
}

// fencing takes half of the time at most: the host needs the rest to come back. A cluster that cannot be reached is given
// less: its only API server may be on this host.
func (s situation) fencing() step {
	remaining := s.timeout/2 - s.elapsed
	if s.node == nodeUnreachable {
		remaining = s.timeout/10 - s.elapsed
	}
	switch {
	case remaining <= 0, s.node == nodeGone, s.node == nodeDrained:
		return step{phase: infrav1.RemediationWaiting}
	case s.node == nodeInService:
		return step{act: s.wayOut(), after: drainCheck}
	case s.node == nodeDraining:
		return step{after: min(drainCheck, remaining)}
	default:
		return step{after: remaining}
	}
}

// wayOut is how a Node is got out of the way. What it is marked with is stored before it is deleted.
func (s situation) wayOut() action {
	switch {
	case !s.knowsNoTaint:
		return fence
	case !s.backedUp:
		return backUp
	default:
		return deleteNode
	}
}

// waiting gets the host and the Node back. Whoever asked for the remediation deletes it when the Node is healthy; as long
// as that has not happened, the time is running.
func (s situation) waiting() step {
	switch {
	case !s.host.found:
		return step{act: replace, phase: infrav1.RemediationDeletingMachine}
	case s.remaining() <= 0:
		return s.again()
	case s.host.keptOff:
		return step{act: letRun, after: s.remaining()}
	case s.host.running && s.unfinished && s.node != nodeUnreachable && !s.awaitsNode():
		return step{act: finish, after: s.remaining()}
	}
	return step{after: s.remaining()}
}

// awaitsNode reports whether a Node that was deleted has yet to come back, to be marked as it was.
func (s situation) awaitsNode() bool {
	return s.backedUp && s.node == nodeGone
}

func (s situation) again() step {
	if s.tries < s.limit {
		return step{phase: infrav1.RemediationRunning, try: true}
	}
	return step{act: replace, phase: infrav1.RemediationDeletingMachine}
}

func (s situation) remaining() time.Duration {
	return s.timeout - s.elapsed
}
