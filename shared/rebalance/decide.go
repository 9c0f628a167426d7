// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/machines"
)

// Action is a write, or none. It is idempotent.
type Action string

const (
	// Nothing writes nothing.
	Nothing Action = ""
	// Record writes Decision.Move on the infrastructure cluster, to begin a move or to begin to abort it.
	Record Action = "record"
	// MarkMachine sets the delete-machine and marked-for-move annotations.
	MarkMachine Action = "mark the Machine"
	// MarkInfrastructure changes cloned-from-name.
	MarkInfrastructure Action = "mark the infrastructure machine"
	// Trigger changes the value of delete-machine to trigger a reconcile of the control plane.
	Trigger Action = "trigger the control plane"
	// RestoreInfrastructure restores cloned-from-name.
	RestoreInfrastructure Action = "restore the infrastructure machine"
	// UnmarkMachine removes marked-for-move, and delete-machine unless another client has changed its value.
	UnmarkMachine Action = "unmark the Machine"
	// Close writes the outcome to the status, then removes the record.
	Close Action = "close"
	// RollOut sets rollout.after.
	RollOut Action = "roll out"
)

const (
	// reactionTimeout is how long a control plane may take to report that a marked machine is not up to date.
	reactionTimeout = 2 * time.Minute
	// triggerInterval is the interval between two Trigger actions. The control plane's cache may not have shown the infrastructure
	// machine at the first one.
	triggerInterval = 20 * time.Second
)

// Decision is the result of Decide: the next write, and what to report.
type Decision struct {
	Action Action
	// Machine is the machine to write to.
	Machine *Machine
	// Move is the move to record, to continue or to close.
	Move *Move
	// Plan lists the moves that would spread the machines as they should be.
	Plan []failuredomain.Move
	// Balanced is true if no move is planned and no problem was found.
	Balanced bool
	// Against lists all reasons that block a move, or the reasons for which the current one is being aborted.
	Against []Reason
	// LeftOver states why the control plane replaces no unhealthy machine and how to fix it; "" if it does.
	LeftOver string
	// After is when to decide again although no event arrived; 0 for never.
	After time.Duration
}

// Decide returns the next step for a control plane.
func Decide(s Snapshot) Decision { return decide(&s, guards()) }

func decide(s *Snapshot, all []guard) Decision {
	v := &view{Snapshot: s, plan: s.makePlan()}
	d := Decision{Plan: v.plan.moves, Balanced: v.plan.balanced(), LeftOver: v.leftOver()}
	if s.Move != nil {
		return v.proceed(d, all)
	}
	if m := v.markedWithoutRecord(); m != nil {
		d.Machine, d.Action = m, UnmarkMachine
		if m.ClonedFrom == outdatedName(s.ControlPlane.Template) {
			d.Action = RestoreInfrastructure
		}
		d.Move = &Move{Machine: m.Name, UID: m.UID, ClonedFrom: s.ControlPlane.Template}
		return d
	}
	if len(d.Plan) == 0 {
		d.Against = v.plan.wrong
		return d
	}
	d.Against = append(v.against(all), v.plan.wrong...)
	return v.begin(d)
}

// against lists all reasons against a move.
func (v *view) against(all []guard) []Reason {
	var reasons []Reason
	for _, g := range all {
		if message := g.against(v); message != "" {
			reasons = append(reasons, Reason{g.reason, message})
		}
	}
	return reasons
}

// markedWithoutRecord returns a machine that is marked for a move without a record; nil if none exists.
func (v *view) markedWithoutRecord() *Machine {
	for i := range v.Machines {
		if m := &v.Machines[i]; m.isOurs() && !m.Deleting && !v.Cluster.Paused && !v.Cluster.Deleting {
			return m
		}
	}
	return nil
}

// begin starts what the mode requires, unless a reason blocks it. Moves without capacity do not block the others.
func (v *view) begin(d Decision) Decision {
	if len(d.Against) > len(v.plan.wrong) {
		d.After = v.timeUntilUnblocked()
		return d
	}
	switch v.Mode {
	case faultlinev1.ControlPlaneRebalanceSurgeOne:
		m := v.candidate()
		d.Action, d.Machine = Record, m
		d.Move = &Move{
			Machine: m.Name, UID: m.UID, From: d.Plan[0].From, To: d.Plan[0].To,
			Started: metav1.NewTime(v.Now.UTC().Truncate(time.Second)), ClonedFrom: m.ClonedFrom, Others: v.others(m),
		}
	case faultlinev1.ControlPlaneRebalanceRolloutAfter:
		d.Action = RollOut
	}
	return d
}

// others lists the names of all machines except the given one.
func (s *Snapshot) others(but *Machine) []string {
	var names []string
	for i := range s.Machines {
		if s.Machines[i].UID != but.UID {
			names = append(names, s.Machines[i].Name)
		}
	}
	return names
}

// timeUntilUnblocked returns the time until the blocking reasons end that only depend on time.
func (s *Snapshot) timeUntilUnblocked() time.Duration {
	after := max(0, s.timeUntilStable(), s.timeUntilRetry(faultlinev1.ReasonControlPlaneDoesNotMove), s.timeUntilRetry(faultlinev1.ReasonAnnotationsRemoved))
	if s.Removed != "" {
		after = max(after, retryAfter)
	}
	if s.Mode == faultlinev1.ControlPlaneRebalanceRolloutAfter {
		after = max(after, s.ControlPlane.RolloutAfter.Sub(s.Now))
	}
	return after
}

// proceed returns the next step of the recorded move.
func (v *view) proceed(d Decision, all []guard) Decision {
	m := v.machineOfMove()
	d.Move, d.Machine = v.Move, m
	switch {
	case v.Cluster.Paused || v.Cluster.Deleting:
		return d
	case m == nil:
		d.Action = Close
		return d
	case m.Deleting || v.replaced() || v.replacementFailed(m):
		return d // the control plane completes it
	case v.Move.Aborting != "":
		d.Against = []Reason{{v.Move.Aborting, v.Move.Why}}
		d.Action = v.revert(m)
		return d
	}
	if v.Mode != faultlinev1.ControlPlaneRebalanceSurgeOne {
		return v.abort(d, Reason{faultlinev1.ReasonNotBalanced, "spec.distribution.controlPlane.rebalance is no longer SurgeOne"})
	}
	if reasons := v.against(all); len(reasons) > 0 {
		d.Against = reasons
		return v.abort(d, reasons[0])
	}
	return v.mark(d, m)
}

// replacementFailed reports whether the control plane has deleted the replacement of the machine because it failed. The control
// plane creates another one as long as the machine is outdated. If the machine were restored, no other reason would make the
// control plane create a machine, and it would not remediate any.
func (v *view) replacementFailed(m *Machine) bool {
	cp := &v.ControlPlane
	since := !cp.Remediation.At.Before(v.Move.Started.Time)
	return v.exists() && cp.Remediation.Noted && since && m.Outdated && len(v.Machines) == cp.Replicas
}

// abort records that the move is aborted, and why.
func (v *view) abort(d Decision, why Reason) Decision {
	move := *v.Move
	move.Aborting, move.Why = why.Reason, why.Message
	d.Action, d.Move = Record, &move
	if len(d.Against) == 0 {
		d.Against = []Reason{why}
	}
	return d
}

// revert returns the next step of aborting a move. It first removes what makes the control plane act.
func (v *view) revert(m *Machine) Action {
	switch {
	case m.ClonedFrom == outdatedName(v.Move.ClonedFrom):
		return RestoreInfrastructure
	case m.isOurs():
		return UnmarkMachine
	}
	return Close
}

// mark returns the next step of making the control plane replace the machine.
func (v *view) mark(d Decision, m *Machine) Decision {
	switch {
	case m.Mark != machines.Ours:
		d.Action = MarkMachine
	case m.ClonedFrom != outdatedName(v.Move.ClonedFrom):
		d.Action = MarkInfrastructure
	case m.Outdated:
		// The control plane has seen the mark, and replaces the machine when its own preflight checks pass.
	case m.Triggered.IsZero():
		d.Action = Trigger
	case !v.Now.Before(m.Triggered.Add(reactionTimeout)):
		return v.abort(d, Reason{faultlinev1.ReasonControlPlaneDoesNotMove, v.ControlPlane.Name + " has not reacted for " + reactionTimeout.String() +
			" to Machine " + m.Name + " being marked: set spec.distribution.controlPlane.rebalance to " + string(v.instead())})
	default:
		next := m.Triggered.Add(time.Duration(m.Triggers) * triggerInterval)
		if !v.Now.Before(next) {
			d.Action = Trigger
			return d
		}
		d.After = min(next.Sub(v.Now), m.Triggered.Add(reactionTimeout).Sub(v.Now))
	}
	return d
}
