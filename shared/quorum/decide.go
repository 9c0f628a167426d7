// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Action is a change of a machine's hook.
type Action string

const (
	// Leave does not change the hook, whether or not it is set.
	Leave Action = "Leave"
	// Protect adds the hook.
	Protect Action = "Protect"
	// Hold keeps the hook and updates the reason in its value.
	Hold Action = "Hold"
	// Release removes the hook.
	Release Action = "LetGo"
)

// Verdict is the action for the hook of one machine, and the reason.
type Verdict struct {
	Machine string
	Action  Action
	Why     string
}

// Decide returns a verdict for each machine, in the order of the snapshot.
func Decide(s Snapshot) []Verdict {
	verdicts := make([]Verdict, len(s.Machines))
	var turn []*Machine
	for i := range s.Machines {
		m := &s.Machines[i]
		verdicts[i] = s.decideAlone(m)
		if verdicts[i].Action == Hold {
			turn = append(turn, m)
		}
	}
	slices.SortFunc(turn, func(a, b *Machine) int {
		return cmp.Or(a.Deleted.Compare(b.Deleted), cmp.Compare(a.Name, b.Name))
	})
	next := s.next(turn)
	told := true
	for i := range verdicts {
		if m := &s.Machines[i]; verdicts[i].Action == Hold {
			verdicts[i].Why = s.why(m, next)
			told = told && (m == next || m.Why == verdicts[i].Why)
		}
	}
	if next != nil && told {
		verdicts[slices.IndexFunc(verdicts, func(v Verdict) bool { return v.Machine == next.Name })] = Verdict{next.Name, Release, "enough others are healthy"}
	}
	return verdicts
}

// decideAlone returns the verdict that does not depend on the other machines. It is Hold for each machine whose turn must still be
// determined.
func (s *Snapshot) decideAlone(m *Machine) Verdict {
	if _, why := s.exempt(m); why != "" {
		if m.Hooked {
			return Verdict{m.Name, Release, why}
		}
		return Verdict{m.Name, Leave, why}
	}
	switch {
	case m.held():
		return Verdict{m.Name, Hold, m.Why}
	case m.deleting(), m.Hooked:
		return Verdict{Machine: m.Name, Action: Leave}
	}
	return Verdict{Machine: m.Name, Action: Protect}
}

// exemption is a reason for which a machine is never held.
type exemption struct {
	name string
	// why returns the reason as a message, "" if it does not apply.
	why func(*Snapshot, *Machine) string
}

// Exemptions that depend on the machine only, whatever its control plane is.
const (
	notOfControlPlane = "NotOfControlPlane"
	othersHook        = "OthersHook"
)

// exempt returns the first exemption of a machine and its message.
func (s *Snapshot) exempt(m *Machine) (name, why string) {
	for _, e := range exemptions() {
		if why := e.why(s, m); why != "" {
			return e.name, why
		}
	}
	return "", ""
}

// exemptions lists all exemptions.
func exemptions() []exemption {
	return []exemption{
		{"NotWanted", func(s *Snapshot, _ *Machine) string {
			return when(!s.Wanted, "spec.distribution.controlPlane.protectQuorum is not true")
		}},
		{"ClusterLeaving", func(s *Snapshot, _ *Machine) string {
			return when(s.Cluster.Leaving, "Cluster %s is being deleted", s.Cluster.Name)
		}},
		{"ControlPlaneProtects", func(s *Snapshot, _ *Machine) string {
			return when(s.ControlPlane.ProtectsQuorum, "%s sets its own hook", s.ControlPlane.Name)
		}},
		{"NoControlPlane", func(s *Snapshot, _ *Machine) string {
			return when(s.ControlPlane.Name == "", "Cluster %s names no control plane", s.Cluster.Name)
		}},
		{"ControlPlaneLeaving", func(s *Snapshot, _ *Machine) string {
			return when(s.ControlPlane.Leaving, "%s is being deleted", s.ControlPlane.Name)
		}},
		{notOfControlPlane, func(s *Snapshot, m *Machine) string {
			return when(m.Owner != s.ControlPlane.Name, "it is not controlled by %s", s.ControlPlane.Name)
		}},
		{othersHook, func(_ *Snapshot, m *Machine) string {
			return when(m.OthersHook != "", "it has the hook %s of another controller", m.OthersHook)
		}},
		{"ScaledToZero", func(s *Snapshot, _ *Machine) string {
			return when(s.ControlPlane.Replicas != nil && *s.ControlPlane.Replicas == 0, "%s is scaled to zero", s.ControlPlane.Name)
		}},
		{"NeverJoined", func(_ *Snapshot, m *Machine) string {
			return when(m.deleting() && !m.member(), "it has never joined the control plane")
		}},
	}
}

func when(applies bool, format string, args ...any) string {
	if !applies {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// next returns the first machine that may be released; nil if none may be.
func (s *Snapshot) next(turn []*Machine) *Machine {
	if s.left() != nil {
		return nil
	}
	for _, m := range turn {
		if m.Waiting && s.short(m) == "" {
			return m
		}
	}
	return nil
}

// left returns a member that was released or never held, and that still exists.
func (s *Snapshot) left() *Machine {
	for i := range s.Machines {
		if s.Machines[i].leaving() {
			return &s.Machines[i]
		}
	}
	return nil
}

// why returns why a machine waits; "" while its deletion has not reached the hook and no other machine is leaving.
func (s *Snapshot) why(m, next *Machine) string {
	switch left := s.left(); {
	case m == next:
		return m.Why
	case next != nil:
		return fmt.Sprintf("Machine %s is deleted first: wait until it is deleted", next.Name)
	case !m.Waiting:
		return ""
	case left != nil:
		return fmt.Sprintf("Machine %s is deleted first: wait until it is deleted", left.Name)
	}
	return s.short(m)
}

// short returns a message if too few votes would be left without the machine; "" if there are enough.
func (s *Snapshot) short(m *Machine) string {
	votes, size := 0, s.size()
	var unfit []string
	for i := range s.Machines {
		other := &s.Machines[i]
		if other == m || !other.member() {
			continue
		}
		if why := s.unfit(other); why != "" {
			unfit = append(unfit, "Machine "+other.Name+": "+why)
			continue
		}
		votes++
	}
	if votes >= needed(size) {
		return ""
	}
	slices.Sort(unfit)
	counted := "counting Ready Nodes, because the control plane reports no etcd members"
	if s.reportsEtcd() {
		counted = "counting etcd members that the control plane reports as healthy"
	}
	missing := "wait until the new machines have joined"
	if len(unfit) > 0 {
		missing = "repair or wait for " + strings.Join(unfit, "; ")
	}
	return fmt.Sprintf("Of %d members %d would be healthy without it, and %d must be (%s): %s; or remove the annotation %s and risk the quorum",
		size, votes, needed(size), counted, missing, faultlinev1.QuorumHookAnnotation)
}
