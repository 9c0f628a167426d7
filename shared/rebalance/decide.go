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

// Action is one write, or none. It is done again without harm.
type Action string

const (
	// Nothing is to be written.
	Nothing Action = ""
	// Record writes Decision.Move on the infrastructure cluster: a move begins, or begins to be aborted.
	Record Action = "record"
	// MarkMachine sets delete-machine and the mark beside it.
	MarkMachine Action = "mark the Machine"
	// MarkInfrastructure changes cloned-from-name.
	MarkInfrastructure Action = "mark the infrastructure machine"
	// Wake changes the value of delete-machine, for the control plane to look again.
	Wake Action = "wake the control plane"
	// RestoreInfrastructure changes cloned-from-name back.
	RestoreInfrastructure Action = "restore the infrastructure machine"
	// UnmarkMachine takes off delete-machine, unless somebody has made it theirs, and the mark beside it.
	UnmarkMachine Action = "unmark the Machine"
	// Close writes the outcome into the status, then takes the record off.
	Close Action = "close"
	// RollOut sets rollout.after.
	RollOut Action = "roll out"
)

const (
	// patience is how long a control plane may take to show that it has seen a marked machine.
	patience = 2 * time.Minute
	// wakeEvery is the time between two attempts to wake it: its cache may not have shown the infrastructure machine yet.
	wakeEvery = 20 * time.Second
)

// Decision is what is to be done now, and what there is to say.
type Decision struct {
	Action Action
	// Machine is the one to write to.
	Machine *Machine
	// Move is the one to record, to carry on or to close.
	Move *Move
	// Plan are the moves that would spread the machines as they should be.
	Plan []failuredomain.Move
	// Balanced says that there are none, and nothing wrong.
	Balanced bool
	// Against are all reasons why no move is begun, or why the one under way is being aborted.
	Against []Reason
	// LeftOver is why the control plane replaces no unhealthy machine, and what to do; "" when it does.
	LeftOver string
	// After is when to decide again although nothing has happened; 0 for not at all.
	After time.Duration
}

// Decide says what is to be done next.
func Decide(s Snapshot) Decision { return decide(&s, guards()) }

func decide(s *Snapshot, all []guard) Decision {
	v := &view{Snapshot: s, plan: s.makePlan()}
	d := Decision{Plan: v.plan.moves, Balanced: v.plan.balanced(), LeftOver: v.leftOver()}
	if s.Move != nil {
		return v.proceed(d, all)
	}
	if m := v.leftBehind(); m != nil {
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

// against lists every reason.
func (v *view) against(all []guard) []Reason {
	var reasons []Reason
	for _, g := range all {
		if message := g.against(v); message != "" {
			reasons = append(reasons, Reason{g.reason, message})
		}
	}
	return reasons
}

// leftBehind is a machine that is marked for a move that nobody knows of.
func (v *view) leftBehind() *Machine {
	for i := range v.Machines {
		if m := &v.Machines[i]; m.isOurs() && !m.Deleting && !v.Cluster.Paused && !v.Cluster.Deleting {
			return m
		}
	}
	return nil
}

// begin begins what the mode says, unless something is against it. That some moves find no room keeps none from the others.
func (v *view) begin(d Decision) Decision {
	if len(d.Against) > len(v.plan.wrong) {
		d.After = v.laterThan()
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

// others names the machines but for one.
func (s *Snapshot) others(but *Machine) []string {
	var names []string
	for i := range s.Machines {
		if s.Machines[i].UID != but.UID {
			names = append(names, s.Machines[i].Name)
		}
	}
	return names
}

// laterThan is when a reason against a move ends that ends by time alone.
func (s *Snapshot) laterThan() time.Duration {
	after := max(0, s.unstable(), s.silent(faultlinev1.ReasonControlPlaneDoesNotMove), s.silent(faultlinev1.ReasonAnnotationsRemoved))
	if s.Removed != "" {
		after = max(after, retryAfter)
	}
	if s.Mode == faultlinev1.ControlPlaneRebalanceRolloutAfter {
		after = max(after, s.ControlPlane.RolloutAfter.Sub(s.Now))
	}
	return after
}

// proceed says how the recorded move goes on.
func (v *view) proceed(d Decision, all []guard) Decision {
	m := v.victim()
	d.Move, d.Machine = v.Move, m
	switch {
	case v.Cluster.Paused || v.Cluster.Deleting:
		return d
	case m == nil:
		d.Action = Close
		return d
	case m.Deleting || v.replaced() || v.replacementFailed(m):
		return d // the control plane finishes it
	case v.Move.Aborting != "":
		d.Against = []Reason{{v.Move.Aborting, v.Move.Why}}
		d.Action = v.takeBack(m)
		return d
	}
	if v.Mode != faultlinev1.ControlPlaneRebalanceSurgeOne {
		return v.abort(d, Reason{faultlinev1.ReasonNotBalanced, "spec.distribution.controlPlane.rebalance is not SurgeOne any more"})
	}
	if reasons := v.against(all); len(reasons) > 0 {
		d.Against = reasons
		return v.abort(d, reasons[0])
	}
	return v.mark(d, m)
}

// replacementFailed reports whether the control plane has deleted the replacement of the machine because it failed. It creates the next one
// as long as the machine is outdated. If it were not any more, nothing would have the control plane create a machine, and it would
// remediate none.
func (v *view) replacementFailed(m *Machine) bool {
	cp := &v.ControlPlane
	since := !cp.Remediation.At.Before(v.Move.Started.Time)
	return v.kubeadm() && cp.Remediation.Noted && since && m.Outdated && len(v.Machines) == cp.Replicas
}

// abort records that the move is taken back, and why.
func (v *view) abort(d Decision, why Reason) Decision {
	move := *v.Move
	move.Aborting, move.Why = why.Reason, why.Message
	d.Action, d.Move = Record, &move
	if len(d.Against) == 0 {
		d.Against = []Reason{why}
	}
	return d
}

// takeBack is the next step of taking a move back. What makes the control plane act goes first.
func (v *view) takeBack(m *Machine) Action {
	switch {
	case m.ClonedFrom == outdatedName(v.Move.ClonedFrom):
		return RestoreInfrastructure
	case m.isOurs():
		return UnmarkMachine
	}
	return Close
}

// mark is the next step of getting the control plane to replace the machine.
func (v *view) mark(d Decision, m *Machine) Decision {
	switch {
	case m.Mark != machines.Ours:
		d.Action = MarkMachine
	case m.ClonedFrom != outdatedName(v.Move.ClonedFrom):
		d.Action = MarkInfrastructure
	case m.Outdated:
		// It has been seen, and the control plane replaces it when its own checks pass.
	case m.Woken.IsZero():
		d.Action = Wake
	case !v.Now.Before(m.Woken.Add(patience)):
		return v.abort(d, Reason{faultlinev1.ReasonControlPlaneDoesNotMove, v.ControlPlane.Name + " has not reacted for " + patience.String() +
			" to Machine " + m.Name + " being marked: set spec.distribution.controlPlane.rebalance to RolloutAfter"})
	default:
		next := m.Woken.Add(time.Duration(m.Wakes) * wakeEvery)
		if !v.Now.Before(next) {
			d.Action = Wake
			return d
		}
		d.After = min(next.Sub(v.Now), m.Woken.Add(patience).Sub(v.Now))
	}
	return d
}
