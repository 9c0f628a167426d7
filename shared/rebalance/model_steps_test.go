// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

// step is one possible transition. A fault is a transition that need not happen.
type step struct {
	name  string
	fault bool
	to    state
}

const controlPlaneActs = "the control plane acts"

// steps lists all transitions of a state except for the manager's.
func (s *state) steps(faults func(*state) []step) []step {
	all := s.controlPlaneReconciles()
	all = append(all, s.machinesProgress()...)
	all = append(all, s.timePasses()...)
	if s.budget > 0 {
		for _, f := range faults(s) {
			f.fault = true
			f.to.budget--
			f.to.disturbed = true
			all = append(all, f)
		}
	}
	return all
}

// controlPlaneReconciles models a reconcile of the KubeadmControlPlane: it reports its status, then performs the first action
// that is due. There is one step for each random choice.
func (s *state) controlPlaneReconciles() []step {
	if s.paused || s.kcpPaused || s.kind != 0 {
		return nil
	}
	base := *s
	base.unobserved = false
	for i := range base.machines[:base.count] {
		m := &base.machines[i]
		if old := base.outdated(m); old != m.seenOld {
			m.seenOld = old
			base.touch(int8(i))
		}
	}
	var all []step
	for _, to := range base.reconciled() {
		if to != *s {
			all = append(all, step{name: controlPlaneActs, to: to})
		}
	}
	return all
}

func (s *state) reconciled() []state {
	deleting := s.any(func(m *machine) bool { return m.deleting })
	switch {
	case s.kcpDeleting || s.deleting:
		to := *s
		if !deleting && to.count > 0 {
			to.machines[0].deleting = true
			to.touch(0)
		}
		return []state{to}
	case deleting, s.heldBack:
		return []state{*s}
	}
	if to, acted := s.remediates(); acted {
		return []state{to}
	}
	there, most := s.count, s.replicas
	rollout := s.any(s.outdated)
	if rollout && !s.surgeless && !s.untested {
		most++
	}
	switch {
	case there < most:
		return s.scalesUp()
	case rollout, there > s.replicas:
		return s.scalesDown()
	}
	return []state{*s}
}

// remediates deletes a machine that fails its health check if the others keep the quorum. The control plane records this until it
// creates a machine, and remediates no other one before.
func (s *state) remediates() (state, bool) {
	to := *s
	if s.remediating {
		return to, false
	}
	for i := range to.machines[:to.count] {
		if to.machines[i].health != failing {
			continue
		}
		others := to.number(func(m *machine) bool { return healthyVoter(m) && m != &to.machines[i] })
		provisioning := to.any(func(m *machine) bool { return !m.joined && m.health != failing })
		if to.count > 1 && !provisioning && others >= quorum(int(to.count)-1) {
			to.machines[i].deleting, to.remediating, to.remediatedBefore, to.deleted = true, true, false, true
			to.touch(int8(i))
			return to, true
		}
	}
	return to, false
}

func quorum(voters int) int { return voters/2 + 1 }

// stable is the control plane's own check before it acts, ignoring one machine.
func (s *state) stable(but int8) bool {
	for i := range s.machines[:s.count] {
		if int8(i) != but && !healthyVoter(&s.machines[i]) {
			return false
		}
	}
	return true
}

// scalesUp creates a machine in a listed domain with the fewest machines that are up to date, then the fewest of all.
func (s *state) scalesUp() []state {
	relaxed := s.remediating && s.number(healthyVoter) >= quorum(int(s.count))
	if !relaxed && !s.stable(none) {
		return []state{*s}
	}
	var picks []int8
	best := [2]int{}
	for d := range s.domains {
		if !s.domains[d].listed {
			continue
		}
		in := func(m *machine) bool { return m.domain == int8(d) }
		c := [2]int{s.number(func(m *machine) bool { return in(m) && !s.outdated(m) && !m.deleting }), s.number(in)}
		switch {
		case len(picks) == 0 || c[0] < best[0] || c[0] == best[0] && c[1] < best[1]:
			picks, best = []int8{int8(d)}, c
		case c == best:
			picks = append(picks, int8(d))
		}
	}
	if len(picks) == 0 {
		picks = []int8{none}
	}
	var all []state
	for _, d := range picks {
		to := *s
		to.create(d)
		to.remediating, to.remediatedBefore = false, false
		all = append(all, to)
	}
	return all
}

// scalesDown deletes one machine of the first non-empty set: outdated and annotated, annotated, outdated, all. It takes the
// oldest of an unlisted domain, otherwise of one of the domains with the most machines.
func (s *state) scalesDown() []state {
	sets := []func(*machine) bool{
		func(m *machine) bool { return s.outdated(m) && m.asked != unmarked },
		func(m *machine) bool { return m.asked != unmarked },
		func(m *machine) bool { return s.outdated(m) && m.health != well },
		s.outdated,
		func(*machine) bool { return true },
	}
	var eligible func(*machine) bool
	for _, eligible = range sets {
		if s.any(eligible) {
			break
		}
	}
	var all []state
	for _, i := range s.oldestOfFullest(eligible) {
		if s.stable(i) {
			to := *s
			to.machines[i].deleting = true
			to.touch(i)
			all = append(all, to)
		}
	}
	if len(all) == 0 {
		return []state{*s}
	}
	return all
}

func (s *state) oldestOfFullest(eligible func(*machine) bool) []int8 {
	oldest := map[int8]int8{}
	var order []int8
	for i := range s.machines[:s.count] {
		m := &s.machines[i]
		if _, known := oldest[m.domain]; !known && eligible(m) {
			oldest[m.domain] = int8(i)
			order = append(order, m.domain)
		}
	}
	for _, d := range order {
		if d == none || !s.domains[d].listed {
			return []int8{oldest[d]}
		}
	}
	var chosen []int8
	most := 0
	for _, d := range order {
		in := s.number(func(m *machine) bool { return m.domain == d })
		switch {
		case in > most:
			chosen, most = []int8{oldest[d]}, in
		case in == most:
			chosen = append(chosen, oldest[d])
		}
	}
	return chosen
}

// machinesProgress lists the steps in which machines join, are deleted, or recover.
func (s *state) machinesProgress() []step {
	var all []step
	for i := range s.machines[:s.count] {
		m := &s.machines[i]
		to := *s
		switch {
		case m.deleting:
			to.remove(int8(i))
			all = append(all, step{name: "a machine goes", to: to})
			continue
		case !m.joined && m.placed:
			to.machines[i].joined = true
			all = append(all, step{name: "a machine joins", to: to})
			continue
		case m.health != well:
			to.machines[i].health, to.disturbed = well, true
			all = append(all, step{name: "a machine gets well", to: to})
		}
	}
	return all
}

// timePasses lists the steps in which windows end, copies arrive, and what was disabled is enabled again.
func (s *state) timePasses() []step {
	var all []step
	add := func(name string, change func(*state)) {
		to := *s
		change(&to)
		if to != *s {
			all = append(all, step{name: name, to: to})
		}
	}
	if s.changing && !s.flapping {
		add("the window ends", func(s *state) { s.changing = false })
	}
	if s.flapping {
		add("the domains stay", func(s *state) { s.flapping = false })
		add("a domain goes again", func(s *state) {
			for i := range s.domains {
				if d := &s.domains[i]; d.there && d.room != 0 && i == lastThere(s) {
					*d = domain{room: none}
				}
			}
			s.flapping, s.disturbed = false, true
			s.change()
		})
	}
	add("Cluster API copies the domains", func(s *state) {
		for i := range s.domains {
			if d := &s.domains[i]; d.listed != (d.there && d.state == 0) {
				d.listed, s.disturbed = d.there && d.state == 0, true
			}
		}
	})
	if s.record.damaged {
		add("the user repairs a damaged record as the condition describes", (*state).repair)
	}
	if s.paused {
		add("the Cluster is not paused any more", func(s *state) { s.paused, s.disturbed = false, true })
	}
	if s.kcpPaused {
		add("the control plane is not paused any more", func(s *state) { s.kcpPaused, s.disturbed = false, true })
	}
	if s.heldBack {
		add("the upgrade continues", func(s *state) {
			s.heldBack, s.unobserved, s.disturbed = false, true, true
			for i := range s.machines[:s.count] {
				s.machines[i].old = true
			}
		})
	}
	if s.rolling && !s.any(func(m *machine) bool { return m.old }) {
		add("the rollout is over", func(s *state) { s.rolling = false })
	}
	if s.triggered() && !s.late && (s.deaf || s.kcpPaused || s.kind != 0 || s.machines[s.record.victim].unlinked) {
		add("nothing happens for long", func(s *state) { s.late = true })
	}
	return append(all, s.domainsRecover()...)
}

// domainsRecover lists the steps in which domains become healthy or have capacity again.
func (s *state) domainsRecover() []step {
	var all []step
	for i := range s.domains {
		if s.domains[i].sick {
			all = append(all, with(s, "a domain gets well", func(s *state) { s.domains[i].sick, s.disturbed = false, true }))
		}
	}
	for i := range s.domains {
		if s.domains[i].filled {
			all = append(all, with(s, "a domain gets room", func(s *state) {
				s.domains[i].filled, s.domains[i].room, s.disturbed = false, none, true
				for j := range s.machines[:s.count] {
					if s.machines[j].domain == int8(i) {
						s.machines[j].placed = true
					}
				}
			}))
		}
	}
	return all
}

// excuse records that a user has changed the domains, so that a previous move may be reverted.
func (s *state) excuse() {
	s.record.excused, s.pending.excused = s.record.there, s.pending.action != Nothing
	s.last.from, s.last.to = none, none
}

func lastThere(s *state) int {
	for i := mostDomains - 1; i >= 0; i-- {
		if s.domains[i].there {
			return i
		}
	}
	return 0
}

// triggered reports whether the control plane was triggered by a Trigger and has not reported yet.
func (s *state) triggered() bool {
	return s.record.there && !s.record.aborting && s.record.victim != none && s.machines[s.record.victim].asked == managerTriggered && !s.machines[s.record.victim].seenOld
}

// allFaults lists transitions that can happen, but need not.
func allFaults(s *state) []step {
	all := append(machineFaults(s), controlPlaneFaults(s)...)
	return append(all, domainFaults(s)...)
}

func with(s *state, name string, change func(*state)) step {
	to := *s
	change(&to)
	return step{name: name, to: to}
}

func machineFaults(s *state) []step {
	var all []step
	sick := s.any(func(m *machine) bool { return m.health != well })
	for i := range s.machines[:s.count] {
		m := &s.machines[i]
		if !m.deleting {
			all = append(all, with(s, "the user deletes a machine", func(s *state) {
				s.machines[i].deleting, s.deleted = true, true
				s.touch(int8(i))
			}))
		}
		if m.joined && !sick {
			for h := notReady; h <= failing; h++ {
				all = append(all, with(s, "a machine gets sick", func(s *state) {
					s.machines[i].health = h
					s.touch(int8(i))
				}))
			}
		}
		if !m.joined && !m.deleting && !sick {
			all = append(all, with(s, "a machine does not join in time", func(s *state) {
				s.machines[i].health = failing
				s.touch(int8(i))
			}))
		}
		if m.asked == unmarked && !m.deleting {
			all = append(all, with(s, "the user marks a machine", func(s *state) {
				s.machines[i].asked = users
				s.touch(int8(i))
			}))
		}
	}
	return all
}

func controlPlaneFaults(s *state) []step {
	all := []step{
		with(s, "the Cluster is paused", func(s *state) { s.paused = true }),
		with(s, "the control plane is paused", func(s *state) { s.kcpPaused = !s.kcpPaused }),
		with(s, "an upgrade is held back", func(s *state) { s.heldBack = true }),
		with(s, "maxSurge is changed", func(s *state) { s.surgeless, s.unobserved = !s.surgeless, true }),
		with(s, "the mode is changed", func(s *state) {
			if s.mode == advise {
				s.mode = surgeOne
			} else {
				s.mode = advise
			}
		}),
		with(s, "a rollout begins", func(s *state) {
			s.unobserved = true
			for i := range s.machines[:s.count] {
				s.machines[i].old = true
			}
		}),
	}
	if s.count <= mostMachines-3 && s.replicas < 5 {
		all = append(all, with(s, "it is scaled up", func(s *state) { s.replicas, s.unobserved = s.replicas+2, true }))
	}
	if s.replicas > 2 {
		all = append(all, with(s, "it is scaled down", func(s *state) { s.replicas, s.unobserved = s.replicas-2, true }))
	}
	if s.triggered() && !s.late {
		all = append(all, with(s, "the control plane is slow", func(s *state) { s.late = true }))
	}
	return all
}

// driftFaults lists all faults, and those in which a machine is moved outside Faultline.
func driftFaults(s *state) []step {
	all := allFaults(s)
	for i := range s.machines[:s.count] {
		for d := range s.domains {
			if m := &s.machines[i]; m.joined && !m.deleting && s.domains[d].there && m.at != int8(d) {
				all = append(all, with(s, "the user moves a machine", func(s *state) {
					s.machines[i].at = int8(d)
					s.touch(int8(i))
					s.excuse()
				}))
			}
		}
	}
	return all
}

// markFaults lists all faults, and those in which another client changes what a move has written.
func markFaults(s *state) []step { return append(allFaults(s), changedMarks(s)...) }

// changedMarks lists the steps in which another client overwrites or removes what a move has written on its machine, or the
// record.
func changedMarks(s *state) []step {
	var all []step
	for i := range s.machines[:s.count] {
		add := func(name string, change func(*machine)) {
			to := *s
			if change(&to.machines[i]); to != *s {
				to.touch(int8(i))
				all = append(all, step{name: name, to: to})
			}
		}
		add("the user removes delete-machine", func(m *machine) { m.asked = unmarked })
		add("the user removes the mark next to it", func(m *machine) { m.beside = false })
		add("the user removes both", func(m *machine) { m.asked, m.beside = unmarked, false })
		if m := &s.machines[i]; m.beside || m.asked == manager || m.asked == managerTriggered {
			add("the user replaces delete-machine", func(m *machine) { m.asked = users })
			add("the user sets delete-machine and nothing else", func(m *machine) { m.asked, m.beside = users, false })
		}
		if s.machines[i].cloned {
			all = append(all, with(s, "the user restores cloned-from-name", func(s *state) {
				s.machines[i].cloned = false
				if s.pending.machine == int8(i) && (s.pending.action == MarkInfrastructure || s.pending.action == RestoreInfrastructure) {
					s.pending.stale = true
				}
			}))
		}
	}
	if s.strips == stripsNothing {
		for strips := stripsMachines; strips <= stripsRecords; strips++ {
			all = append(all, with(s, "a policy removes what is written", func(s *state) { s.strips = strips }))
		}
	}
	if s.record.there && !s.record.damaged {
		all = append(all, with(s, "the user removes the record", (*state).forget), with(s, "the user damages the record", func(s *state) {
			s.record.damaged = true
			s.touchRecord()
		}))
	}
	return all
}

// forget removes the record without closing it.
func (s *state) forget() {
	s.touchRecord()
	s.record, s.late = record{victim: none}, false
}

// repair models a user who follows the message about a damaged record.
func (s *state) repair() {
	for i := range s.machines[:s.count] {
		if m := &s.machines[i]; m.beside {
			m.asked = unmarked
			s.touch(int8(i))
		}
	}
	s.forget()
}

// rolloutFaults lists mode changes, evictions and machine faults. It has fewer faults than allFaults, because a rollout passes
// through many more states than a move.
func rolloutFaults(s *state) []step {
	all := machineFaults(s)
	if s.domains[0].state == 0 {
		all = append(all, with(s, "a domain is evicted", func(s *state) {
			s.domains[0].state = 2
			s.change()
			s.excuse()
		}))
	}
	if s.mode != rolloutAfter {
		return append(all, with(s, "the mode is changed to RolloutAfter", func(s *state) { s.mode = rolloutAfter }))
	}
	return append(all, with(s, "the mode is changed to SurgeOne", func(s *state) { s.mode = surgeOne }))
}

func domainFaults(s *state) []step {
	var all []step
	active := 0
	for i := range s.domains {
		if s.domains[i].there && s.domains[i].state == 0 {
			active++
		}
	}
	for i := range s.domains {
		d := s.domains[i]
		change := func(name string, change func(*domain)) {
			all = append(all, with(s, name, func(s *state) {
				change(&s.domains[i])
				s.change()
				s.excuse()
			}))
		}
		switch {
		case !d.there:
			change("a domain is added", func(d *domain) { *d = domain{there: true, room: none} })
		case d.state != 0:
			change("a domain is activated", func(d *domain) { d.state = 0 })
		case active > 1:
			change("a domain is cordoned", func(d *domain) { d.state = 1 })
			change("a domain is evicted", func(d *domain) { d.state = 2 })
			all = append(all, with(s, "a domain gets sick", func(s *state) { s.domains[i].sick = true }))
		}
		if d.there && d.room != 0 {
			all = append(all, with(s, "a domain gets full", func(s *state) {
				s.domains[i].room, s.domains[i].filled = 0, true
				s.excuse()
			}))
		}
	}
	return all
}
