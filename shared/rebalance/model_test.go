// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/machines"
)

// model explores every interleaving of the manager, whose decisions are those of the real code, with all other transitions.
type model struct {
	decides func(*Snapshot) Decision
	faults  func(*state) []step

	states    map[state]int32
	order     []state
	parent    []int32
	how       []string
	continues [][]int32 // the steps that are not faults, backwards
	rest      []int32
	memory    map[state]verdict
	violated  string
	at        int32
}

// verdict is the part of a decision that the model uses.
type verdict struct {
	pending  pending
	leftOver bool
}

func newModel(all []guard, faults func(*state) []step) *model {
	return modelOf(func(s *Snapshot) Decision { return decide(s, all) }, faults)
}

func modelOf(decides func(*Snapshot) Decision, faults func(*state) []step) *model {
	return &model{decides: decides, faults: faults, states: map[state]int32{}, memory: map[state]verdict{}}
}

// explore returns the violated invariant, "" if none exists.
func (m *model) explore(starts []state) string {
	for _, s := range starts {
		m.add(s, -1, "start", true)
	}
	for next := 0; next < len(m.order) && m.violated == ""; next++ {
		m.expand(int32(next))
	}
	if m.violated == "" {
		m.allComeToRest()
	}
	if m.violated == "" {
		return ""
	}
	return m.violated + ":" + m.trace(m.at)
}

func (m *model) add(s state, from int32, how string, fault bool) {
	to, known := m.states[s]
	if !known {
		to = int32(len(m.order))
		m.states[s] = to
		m.order = append(m.order, s)
		m.parent = append(m.parent, from)
		m.how = append(m.how, how)
		m.continues = append(m.continues, nil)
	}
	if from >= 0 && !fault {
		m.continues[to] = append(m.continues[to], from)
	}
	if !known {
		if wrong := s.wrong(); wrong != "" {
			m.violate(wrong, to)
		}
	}
}

func (m *model) violate(what string, at int32) {
	if m.violated == "" {
		m.violated, m.at = what, at
	}
}

func (m *model) expand(i int32) {
	s := m.order[i]
	for _, next := range s.steps(m.faults) {
		if wrong := s.wrongStep(&next); wrong != "" {
			m.add(next.to, i, next.name, next.fault)
			m.violate(wrong, m.states[next.to])
			return
		}
		m.add(next.to, i, next.name, next.fault)
	}
	if s.pending.action != Nothing {
		lost := s
		lost.pending, lost.stripped = pending{}, false
		m.add(lost, i, "the manager dies", true)
		to := s.written()
		m.add(to, i, "the manager writes: "+string(s.pending.action), false)
		if wrong := s.wrongWrite(&to); wrong != "" {
			m.violate(wrong, m.states[to])
		}
		return
	}
	v := m.decide(s)
	if v.leftOver {
		to := s
		to.remediating, to.remediatedBefore = false, false
		m.add(to, i, "the user clears a leftover remediation as the condition describes", false)
	}
	if v.pending.action == Nothing {
		if s.atRest() {
			m.rest = append(m.rest, i)
		}
		if s.stripped {
			to := s
			to.stripped = false
			m.add(to, i, "the manager writes its status", false)
		}
		return
	}
	if wrong := s.wrongDecision(v.pending); wrong != "" {
		m.violate(wrong, i)
		return
	}
	to := s
	to.pending = v.pending
	if begins(v.pending) && !s.record.there {
		to.disturbed = false
	}
	m.add(to, i, "the manager decides: "+string(v.pending.action), false)
}

// decide calls the real code. State that it does not read is left out of the key.
func (m *model) decide(s state) verdict {
	key := s
	key.pending, key.disturbed, key.deleted, key.budget = pending{}, false, false, 0
	key.last = record{silent: s.last.silent}
	key.flapping, key.deaf, key.rolling = false, false, false
	for i := range key.machines {
		key.machines[i].placed, key.machines[i].old = false, false
	}
	v, known := m.memory[key]
	if known {
		return v
	}
	if s.record.damaged {
		return verdict{} // it reports this and does nothing
	}
	snap := s.snapshot()
	d := m.decides(&snap)
	v.leftOver = d.LeftOver != ""
	v.pending = pending{action: d.Action, machine: none, from: none, to: none}
	if d.Machine != nil && d.Action != Nothing {
		v.pending.machine = int8(slices.IndexFunc(snap.Machines, func(m Machine) bool { return m.UID == d.Machine.UID }))
	}
	if d.Action == Record {
		v.pending.from, v.pending.to = indexOf(d.Move.From), indexOf(d.Move.To)
		v.pending.abort, v.pending.silent = d.Move.Aborting != "", wouldRepeat(d.Move.Aborting)
	}
	m.memory[key] = v
	return v
}

// begins reports whether the action starts to replace machines.
func begins(p pending) bool { return p.action == Record && !p.abort || p.action == RollOut }

// written returns the state after the pending write, which fails on a conflict.
func (s *state) written() state {
	to, p := *s, s.pending
	to.pending = pending{}
	if p.stale {
		return to
	}
	if p.action != Record && p.action != Close && p.action != RollOut && p.machine == none {
		return to // the machine was deleted
	}
	if s.strip(p.action) {
		return s.removed()
	}
	switch p.action {
	case Record:
		switch {
		case p.abort:
			to.record.aborting, to.record.silent = true, p.silent
		default:
			to.record = record{there: true, victim: p.machine, from: p.from, to: p.to, excused: p.excused}
			to.late, to.remediatedBefore = false, s.remediating
		}
	case Close:
		to.last, to.record, to.late = to.record, record{victim: none}, false
		if to.last.victim != none || to.last.excused {
			to.last.from, to.last.to = none, none // it was aborted, or others have changed what it was for
		}
		to.last.there, to.last.aborting, to.last.excused, to.last.victim = false, false, false, none
	case MarkMachine:
		to.machines[p.machine].asked, to.machines[p.machine].beside = manager, true
	case UnmarkMachine:
		to.machines[p.machine].beside = false
		if whose, _, _ := markOf(annotated(s.machines[p.machine].asked, s.machines[p.machine].beside, modelNow)); whose == machines.Ours {
			to.machines[p.machine].asked = unmarked
		}
	case Trigger:
		to.machines[p.machine].asked = managerTriggered
	case MarkInfrastructure:
		to.machines[p.machine].cloned = !to.machines[p.machine].unlinked
		if to.machines[p.machine].unlinked {
			to.machines[p.machine].asked = managerTriggered // the model has no repeated Trigger; only the deadline is left
		}
	case RestoreInfrastructure:
		to.machines[p.machine].cloned = false
	case RollOut:
		to.rolled, to.rolling, to.unobserved = since, true, true
		for i := range to.machines[:to.count] {
			to.machines[i].old = true
		}
	}
	return to
}

// removed returns the state after a pending write whose result a policy removes.
func (s *state) removed() state {
	to := *s
	to.pending, to.stripped = pending{}, true
	switch s.pending.action {
	case Record:
		to.record, to.late = record{victim: none}, false
	case MarkMachine, Trigger:
		to.machines[s.pending.machine].asked, to.machines[s.pending.machine].beside = unmarked, false
	}
	return to
}

// atRest reports whether nothing of a move is left.
func (s *state) atRest() bool {
	return !s.record.there && !s.rolling && !s.remediating && !s.any(func(m *machine) bool { return m.ofMove() || m.deleting }) || s.deleting || s.kcpDeleting
}

// wrong returns the violated state invariant, "" if none exists.
func (s *state) wrong() string {
	if s.number((*machine).ofMove) > 1 {
		return "there are two victims"
	}
	voters := s.number(func(m *machine) bool { return m.joined })
	sick := s.number(func(m *machine) bool { return m.health != well })
	others := s.deleted || s.deleting || s.kcpDeleting || s.remediating || s.surgeless && s.disturbed // others that delete machines
	if (s.record.there || s.rolling) && !others && s.replicas > 2 && sick <= 1 && s.number(healthyVoter) < quorum(voters) {
		return "a move takes the quorum away"
	}
	return ""
}

// wrongStep returns what must not happen to the machine of a move.
func (s *state) wrongStep(next *step) string {
	v := s.record.victim
	if next.name != controlPlaneActs || !s.record.there || v == none || s.machines[v].deleting || !next.to.machines[v].deleting {
		return ""
	}
	if s.machines[v].health == failing || s.deleting || s.kcpDeleting {
		return "" // health checks and deletion of the cluster need no move
	}
	others := s.number(healthyVoter)
	if healthyVoter(&s.machines[v]) {
		others--
	}
	if others < quorum(int(s.count)-1) {
		return "the machine of a move goes although no quorum stays"
	}
	if !s.disturbed && others < int(s.replicas) {
		return "the machine of a move goes before its replacement has come"
	}
	return ""
}

// wrongDecision returns why the decision must not be made in the actual state, whether or not the manager can observe it.
func (s *state) wrongDecision(p pending) string {
	switch {
	case s.paused || s.deleting:
		return "it writes although the Cluster is paused or being deleted"
	case p.abort && !s.disturbed && (!s.deaf || s.kind != 0) && s.strips == stripsNothing:
		return "a move was begun that had to be aborted"
	case p.abort && s.remediating && !s.remediatedBefore && s.machines[s.record.victim].seenOld && s.count == s.replicas:
		return "it takes a move back that alone has the control plane remediate again"
	case p.action == MarkInfrastructure && s.machines[p.machine].asked == unmarked:
		return "it makes a machine outdated that may be updated in place, as it is not to be deleted"
	case !begins(p) && p.action != MarkMachine && p.action != MarkInfrastructure && p.action != Trigger:
		return ""
	case s.any(func(m *machine) bool { return m.health != well || m.deleting || !m.joined }):
		return "it continues although a machine is unhealthy"
	case s.count != s.replicas, s.any(func(m *machine) bool { return m.old && !m.ofMove() }) && (begins(p) || s.unobserved):
		return "it continues although the control plane has other work"
	}
	if !begins(p) {
		return ""
	}
	switch {
	case p.action == RollOut && s.rolled == since:
		return "it replaces all machines again, although the failure domains are the same"
	case p.action == RollOut && s.flapping:
		return "it replaces all machines for failure domains that are going to change again"
	case p.action == RollOut && slices.ContainsFunc(s.domains[:], func(d domain) bool { return d.there && d.dubious }):
		return "it may replace machines to where the user did not want them"
	case p.action == Record && !s.gains(p.machine):
		return "it begins a move that gains nothing"
	case s.heldBack:
		return "it begins while the control plane acts on no machine"
	case s.replicas == 2:
		return "it begins with a control plane that survives no loss"
	case p.to != none && s.domains[p.to].dubious:
		return "it moves a machine to where the user did not want it"
	case s.last.from != none && p.from == s.last.to && p.to == s.last.from:
		return "it takes the last move back"
	}
	return ""
}

// wrongWrite returns what the manager must not have done with a write.
func (s *state) wrongWrite(to *state) string {
	for i := range s.machines[:s.count] {
		if s.machines[i].asked == users && to.machines[i].asked != users {
			return "it touches what a person has marked"
		}
	}
	return ""
}

// gains reports whether the machines are closer to being spread as they should be after the control plane has replaced the
// machine, for every domain it may choose: it only uses the requested domains.
func (s *state) gains(victim int8) bool {
	surge := *s
	surge.machines[victim].old = true
	for _, after := range surge.scalesUp() {
		if after.count == s.count {
			continue // the control plane waits
		}
		after.machines[victim].deleting = true
		if after.uneven() >= s.uneven() {
			return false
		}
	}
	return true
}

// allComeToRest checks that every state can reach one at rest without a further fault.
func (m *model) allComeToRest() {
	reaches := make([]bool, len(m.order))
	queue := slices.Clone(m.rest)
	for _, i := range queue {
		reaches[i] = true
	}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, before := range m.continues[i] {
			if !reaches[before] {
				reaches[before] = true
				queue = append(queue, before)
			}
		}
	}
	if i := slices.Index(reaches, false); i >= 0 {
		m.violate("it never comes to rest", int32(i))
	}
}

// trace returns the steps that led to a state.
func (m *model) trace(i int32) string {
	var lines []string
	for ; i >= 0; i = m.parent[i] {
		s := m.order[i]
		lines = append(lines, fmt.Sprintf("\n  %s: %s", m.how[i], s.String()))
	}
	slices.Reverse(lines)
	return strings.Join(lines, "")
}

// start returns a control plane at rest, with machines in the domains named by the letters; there is one letter for each existing
// domain.
func start(machines, domains string, change ...func(*state)) state {
	s := state{replicas: uint8(len(machines)), mode: surgeOne, record: record{victim: none}, last: record{from: none, to: none, victim: none}}
	s.count = s.replicas
	for i := range s.domains {
		s.domains[i].room = none
	}
	for _, d := range domains {
		s.domains[d-'a'] = domain{there: true, listed: true, room: none}
	}
	for i, d := range machines {
		s.machines[i] = machine{domain: int8(d - 'a'), at: int8(d - 'a'), joined: true, placed: true}
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func budget(n uint8) func(*state) { return func(s *state) { s.budget = n } }

// moved places machines in other domains than requested.
func moved(at string) func(*state) {
	return func(s *state) {
		for i, d := range at {
			s.machines[i].at = int8(d - 'a')
		}
	}
}

func in(mode mode) func(*state) { return func(s *state) { s.mode = mode } }

func noFaults(*state) []step { return nil }

// hazards maps the reason of each guard to a start state from which the guard is needed.
func hazards() map[string]state {
	machineIs := func(change func(*machine)) func(*state) { return func(s *state) { change(&s.machines[2]) } }
	return map[string]state{
		faultlinev1.ReasonClusterDeleting:              start("aab", "abc", func(s *state) { s.deleting = true }),
		faultlinev1.ReasonClusterPaused:                start("aab", "abc", func(s *state) { s.paused = true }),
		faultlinev1.ReasonControlPlaneNotSupported:     start("aab", "abc", func(s *state) { s.kind = 1 }),
		faultlinev1.ReasonControlPlaneDeleting:         start("baa", "abc", func(s *state) { s.kcpDeleting = true }),
		faultlinev1.ReasonControlPlanePaused:           start("aab", "abc", func(s *state) { s.kcpPaused = true }),
		faultlinev1.ReasonEvenReplicas:                 start("aa", "ab"),
		faultlinev1.ReasonControlPlaneVersionNotTested: start("aab", "abc", func(s *state) { s.untested = true }),
		faultlinev1.ReasonNoSurge:                      start("aab", "abc", func(s *state) { s.surgeless = true }),
		faultlinev1.ReasonControlPlaneNotObserved: start("aab", "abc", func(s *state) {
			s.unobserved = true
			for i := range s.machines[:s.count] {
				s.machines[i].old = true
			}
		}),
		faultlinev1.ReasonControlPlaneRollingOut:          start("aab", "abc", machineIs(func(m *machine) { m.old, m.seenOld = true, true })),
		faultlinev1.ReasonControlPlaneScaling:             start("aab", "abc", func(s *state) { s.replicas = 5 }),
		faultlinev1.ReasonMachineDeleting:                 start("aab", "abc", machineIs(func(m *machine) { m.deleting = true })),
		faultlinev1.ReasonControlPlaneRemediating:         start("aab", "abc", machineIs(func(m *machine) { m.health = failing })),
		faultlinev1.ReasonMachineNotReady:                 start("aab", "abc", machineIs(func(m *machine) { m.health = notReady })),
		faultlinev1.ReasonControlPlaneUnhealthy:           start("aab", "abc", machineIs(func(m *machine) { m.health = etcdDown })),
		faultlinev1.ReasonMachineMarked:                   start("aab", "abc", func(s *state) { s.machines[0].asked = users }),
		faultlinev1.ReasonInfrastructureMachineUnexpected: start("aab", "abc", func(s *state) { s.machines[0].unlinked = true }),
		faultlinev1.ReasonFailureDomainIntentInvalid:      start("aab", "abc", func(s *state) { s.domains[2].dubious = true }),
		faultlinev1.ReasonStabilizing:                     start("aab", "abc", func(s *state) { s.changing, s.flapping = true, true }),
		faultlinev1.ReasonTargetNotAvailable:              start("aaa", "abc", func(s *state) { s.domains[1].room = 0 }),
		faultlinev1.ReasonControlPlaneDoesNotMove:         start("aab", "abc", func(s *state) { s.deaf = true }),
		faultlinev1.ReasonAnnotationsRemoved:              start("aab", "abc", func(s *state) { s.strips = stripsMachines }),
		faultlinev1.ReasonRolledOut:                       start("aaa", "abc", in(rolloutAfter), func(s *state) { s.rolled = since }),
	}
}

func TestModelNeedsEachGuard(t *testing.T) {
	t.Parallel()
	starts := hazards()
	for i, g := range guards() {
		s, named := starts[g.reason]
		if !named {
			t.Errorf("no start needs the guard %s", g.reason)
			continue
		}
		t.Run(g.reason, func(t *testing.T) {
			t.Parallel()
			if wrong := newModel(guards(), noFaults).explore([]state{s}); wrong != "" {
				t.Errorf("with all guards, %s", wrong)
			}
			without := newModel(slices.Delete(guards(), i, i+1), noFaults)
			wrong := without.explore([]state{s})
			if wrong == "" {
				t.Errorf("nothing goes wrong without the guard in %d states: it is not needed, or the model lacks what it is for", len(without.order))
			}
			what, _, _ := strings.Cut(wrong, ":")
			t.Logf("without it %s", what)
		})
	}
}

// Without the check in a guard of what a move gains, a machine that was moved outside Faultline is replaced in its requested
// domain.
func TestModelMisplacedMachine(t *testing.T) {
	t.Parallel()
	starts := []state{start("abc", "abc", moved("aba")), start("abc", "abc", moved("aaa")), start("aabbc", "abc", moved("aabba"))}
	m := newModel(guards(), noFaults)
	if wrong := m.explore(starts); wrong != "" {
		t.Errorf("with all guards, %s", wrong)
	}
	t.Logf("%d states", len(m.order))
	without := guards()
	at := slices.IndexFunc(without, func(g guard) bool { return g.reason == faultlinev1.ReasonTargetNotAvailable })
	without[at].against = func(v *view) string {
		var others []string
		for _, why := range strings.Split(checkTarget(v), "; ") {
			if !strings.Contains(why, "which would not improve the balance") {
				others = append(others, why)
			}
		}
		return strings.Join(others, "; ")
	}
	if wrong := newModel(without, noFaults).explore(starts); !strings.HasPrefix(wrong, "it begins a move that gains nothing") {
		t.Errorf("without it: %q", wrong)
	}
}

// Other clients may change what a move has written on its machine. Each case checks one rule for this, and what would go wrong
// without it.
func TestModelChangedMarks(t *testing.T) {
	t.Parallel()
	starts := []state{start("aab", "abc", budget(2)), start("aabbc", "abcd", budget(2))}
	m := newModel(guards(), changedMarks)
	if wrong := m.explore(starts); wrong != "" {
		t.Errorf("with all rules, %s", wrong)
	}
	t.Logf("%d states, %d of them at rest", len(m.order), len(m.rest))
	unguarded := slices.DeleteFunc(guards(), func(g guard) bool { return g.reason == faultlinev1.ReasonMachineMarked })
	for rule, without := range map[string]struct {
		decides func(*Snapshot) Decision
		wrong   string
	}{
		"a person's mark ends the move": {func(s *Snapshot) Decision { return decide(s, unguarded) }, "it touches what a person has marked"},
		"what is left of a move is taken back without a record of it": {func(s *Snapshot) Decision {
			d := decide(s, guards())
			if s.Move == nil && (d.Action == RestoreInfrastructure || d.Action == UnmarkMachine) {
				return Decision{}
			}
			return d
		}, "it never comes to rest"},
		"a mark that was taken off is set again": {func(s *Snapshot) Decision {
			for i := range s.Machines {
				if s.Machines[i].Mark == machines.TakenOff {
					s.Machines[i].Mark = machines.Ours
				}
			}
			return decide(s, guards())
		}, "it makes a machine outdated that may be updated in place"},
	} {
		if wrong := modelOf(without.decides, changedMarks).explore(starts); !strings.HasPrefix(wrong, without.wrong) {
			t.Errorf("without the rule that %s: %q", rule, wrong)
		}
	}
}

// heldBack sets that an upgrade is held back.
func heldBack(s *state) { s.heldBack = true }

// A control plane that deletes a failed machine remediates no other one until it has created a machine. A move must not leave it
// in that state without reporting it, and must not wait for the state to end. A control plane that waits for its upgrade does not
// end it.
func TestModelRemediation(t *testing.T) {
	t.Parallel()
	starts := []state{
		start("aab", "abc", budget(1)), start("aab", "abc", func(s *state) { s.remediating, s.remediatedBefore = true, true }), start("abc", "abc", budget(1), func(s *state) { s.remediating, s.remediatedBefore = true, true }),
	}
	m := newModel(guards(), allFaults)
	if wrong := m.explore(starts); wrong != "" {
		t.Errorf("with all rules, %s", wrong)
	}
	t.Logf("%d states, %d of them at rest", len(m.order), len(m.rest))
	for rule, without := range map[string]struct {
		decides func(*Snapshot) Decision
		wrong   string
	}{
		"a move continues when its replacement failed": {func(s *Snapshot) Decision {
			s.ControlPlane.Remediation.At = time.Time{}
			return decide(s, guards())
		}, "it takes a move back that alone has the control plane remediate again"},
		"a leftover remediation is reported": {func(s *Snapshot) Decision {
			d := decide(s, guards())
			d.LeftOver = ""
			return d
		}, "it never comes to rest"},
	} {
		if wrong := modelOf(without.decides, allFaults).explore(starts); !strings.HasPrefix(wrong, without.wrong) {
			t.Errorf("without the rule that %s: %q", rule, wrong)
		}
	}
}

func TestModelPendingUpgrade(t *testing.T) {
	t.Parallel()
	starts := []state{start("aab", "abc", heldBack)}
	if wrong := newModel(guards(), noFaults).explore(starts); wrong != "" {
		t.Errorf("with all guards, %s", wrong)
	}
	without := modelOf(func(s *Snapshot) Decision {
		s.Cluster.Upgrade = ""
		return decide(s, guards())
	}, noFaults)
	if wrong := without.explore(starts); !strings.HasPrefix(wrong, "it begins while the control plane acts on no machine") {
		t.Errorf("without it: %q", wrong)
	}
}

// Each rule of a rollout that a guard enforces, in the mode that replaces all machines.
func TestModelNeedsEachRolloutGuard(t *testing.T) {
	t.Parallel()
	for reason, s := range hazards() {
		switch reason {
		case faultlinev1.ReasonControlPlaneVersionNotTested, // only needs the contract
			faultlinev1.ReasonControlPlaneNotSupported, faultlinev1.ReasonControlPlaneDoesNotMove, // nothing is replaced, which does no harm
			faultlinev1.ReasonControlPlaneDeleting,            // the same
			faultlinev1.ReasonAnnotationsRemoved,              // no annotation is written
			faultlinev1.ReasonNoSurge,                         // it deletes one of three machines first, as in its own rollouts
			faultlinev1.ReasonControlPlanePaused,              // it does nothing while paused, and then acts on the latest request
			faultlinev1.ReasonMachineMarked,                   // all machines are replaced, and a mark only selects the first one
			faultlinev1.ReasonInfrastructureMachineUnexpected: // no infrastructure machine is written
			continue
		}
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s.mode = rolloutAfter
			m := newModel(guards(), noFaults)
			if wrong := m.explore([]state{s}); wrong != "" {
				t.Errorf("with all guards, %s", wrong)
			}
			without := slices.DeleteFunc(guards(), func(g guard) bool { return g.reason == reason })
			wrong := newModel(without, noFaults).explore([]state{s})
			if wrong == "" {
				t.Errorf("nothing goes wrong without the guard")
			}
			what, _, _ := strings.Cut(wrong, ":")
			t.Logf("%d states; without it %s", len(m.order), what)
		})
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("there are no goroutines to watch, and it takes minutes")
	}
	for name, tc := range map[string]struct {
		starts []state
		faults func(*state) []step
	}{
		"3 machines": {[]state{
			start("aab", "abc", budget(1)), start("aaa", "abcd", budget(1)), start("aaa", "ab", budget(1)), start("abc", "abc", budget(1)),
			start("abc", "ab", budget(1)), start("abc", "abcd", budget(1), func(s *state) { s.domains[1].state = 2 }),
		}, allFaults},
		"5 machines": {[]state{
			start("aabbc", "abcd", budget(1)), start("aabbb", "ab", budget(1)), start("aaabb", "abc", budget(1)),
			start("abcda", "abcd", budget(1), func(s *state) { s.domains[1].state = 2 }),
		}, allFaults},
		"3 machines, two troubles": {[]state{start("aab", "abc", budget(2))}, markFaults},
		"machines that the user moves": {[]state{
			start("abc", "abc", budget(1)), start("abc", "abc", budget(1), moved("aba")), start("aab", "abc", budget(1), moved("aca")),
			start("aabbc", "abc", moved("aabbb")),
		}, driftFaults},
		"marks that the user changes": {[]state{
			start("aab", "abc", budget(1)), start("aaa", "abcd", budget(1)), start("abc", "abcd", budget(1), func(s *state) { s.domains[1].state = 2 }),
			start("aabbc", "abcd", budget(1)),
		}, markFaults},
		"rollouts of 3 machines": {[]state{
			start("aab", "abc", budget(1), in(rolloutAfter)), start("abc", "ab", budget(1), in(rolloutAfter)), start("aab", "abc", budget(1)),
			start("abc", "abc", in(rolloutAfter), moved("aba")),
		}, rolloutFaults},
		"rollouts of 5 machines": {[]state{start("aabbb", "abc", in(rolloutAfter)), start("aabbc", "abcd", in(rolloutAfter))}, noFaults},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(guards(), tc.faults)
			if wrong := m.explore(tc.starts); wrong != "" {
				t.Error(wrong)
			}
			t.Logf("%d states, %d of them at rest, %d different snapshots", len(m.order), len(m.rest), len(m.memory))
		})
	}
}

// wouldRepeat reports whether a move aborted for the reason would fail again if it were begun immediately.
func wouldRepeat(reason string) bool {
	return reason == faultlinev1.ReasonControlPlaneDoesNotMove || reason == faultlinev1.ReasonAnnotationsRemoved
}
