// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
)

const (
	// lag is the maximum age of the state that a controller acts on, because it cannot observe changes that happen while it acts.
	lag = 10 * time.Second
	// mostAborted is the maximum number of aborted moves after the faults are over: one that is in progress, and one for each late change
	// of the failure domains.
	mostAborted = 2
)

// checkHistory returns the faults in a history. It recognizes moves only by their marks.
func checkHistory(h history) []string {
	faults := h.movesEnd()
	for i := range h {
		faults = slices.Concat(faults, h[i].oneMove(), h.noSecondVictim(i), h.starts(i), h.quorumKept(i), h.takenOverMarks(i))
	}
	if len(h) > 0 {
		faults = append(faults, unsettledControlPlane(h[len(h)-1])...)
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// throughout reports whether holds was true for longer than the permitted lag of a controller, up to a moment.
func (h history) throughout(i int, holds func(moment) bool) bool {
	for j := i; j >= 0; j-- {
		if !holds(h[j]) {
			return false
		}
		if h[i].at.Sub(h[j].at) > lag {
			break
		}
	}
	return true
}

// before returns the moment before another one.
func (h history) before(i int) moment { return h[max(i-1, 0)] }

// oneMove reports marks that belong to no move, or to a second one. A policy may have removed the record.
func (m moment) oneMove() []string {
	if m.at.Before(m.strippedUntil) {
		return nil
	}
	var faults []string
	for _, is := range m.machines {
		if is.touched() && (m.move == nil || m.move.Machine != is.name) {
			faults = append(faults, fmt.Sprintf("Machine %s is marked but is not recorded as moving", is.name))
		}
	}
	return faults
}

// noSecondVictim reports a record that changes to another machine while the first is still moving.
func (h history) noSecondVictim(i int) []string {
	before, now := h.before(i).move, h[i].move
	if before == nil || now == nil || before.Machine == now.Machine {
		return nil
	}
	return []string{fmt.Sprintf("a move of Machine %s begins before that of %s has ended", now.Machine, before.Machine)}
}

// begins reports whether a move begins at a moment.
func (h history) begins(i int) bool { return h.before(i).move == nil && h[i].move != nil }

// aborts reports whether a move is aborted at a moment.
func (h history) aborts(i int) bool {
	before, now := h.before(i).move, h[i].move
	return now != nil && now.Aborting != "" && (before == nil || before.Aborting == "")
}

// rollsOut reports whether a rollout that the user did not request begins at a moment.
func (h history) rollsOut(i int) bool {
	return !h[i].rollout.Equal(h.before(i).rollout) && !h[i].rollout.Equal(h[i].asked)
}

// starts reports moves and rollouts that begin while the control plane is not complete and ready, or while its upgrade is held back, and rollouts that
// begin a second time for the same failure domains.
func (h history) starts(i int) []string {
	if !h.begins(i) && !h.rollsOut(i) {
		return nil
	}
	var faults []string
	what := "a rollout"
	if h.begins(i) {
		what = "a move of Machine " + h[i].move.Machine
	}
	if h.throughout(i, func(m moment) bool { return m.paused || m.heldBack || !m.complete() }) {
		faults = append(faults, what+" begins while the control plane is paused, held back or lacks machines")
	}
	for j := i - 1; h.rollsOut(i) && j >= 0 && maps.Equal(h[j].states, h[i].states); j-- {
		if h.rollsOut(j) {
			faults = append(faults, "a second rollout begins although the failure domains have not changed since the first one")
		}
	}
	return faults
}

// quorumKept reports machines with a mark of ours whose deletion begins before a replacement exists, or while etcd needs them. A machine
// that fails its health check may be deleted without a move.
func (h history) quorumKept(i int) []string {
	var faults []string
	for _, is := range h[i].machines {
		before, there := h.before(i).named(is.name)
		if !there || before.deleting || !is.deleting || !is.touched() || is.deletedByPerson || is.failing {
			continue
		}
		if h.throughout(i, func(m moment) bool {
			return len(m.those(func(other machine) bool { return !other.deleting && other.name != is.name })) < m.replicas
		}) {
			faults = append(faults, fmt.Sprintf("Machine %s is deleted for a move before its replacement exists", is.name))
		}
		if h.throughout(i, func(m moment) bool { return !m.quorate(is.name) }) {
			faults = append(faults, fmt.Sprintf("Machine %s is deleted for a move although etcd would lose its quorum", is.name))
		}
	}
	return faults
}

// takenOverMarks reports marks of other writers that were taken over or removed.
func (h history) takenOverMarks(i int) []string {
	var faults []string
	for _, is := range h[i].machines {
		if before, there := h.before(i).named(is.name); there && before.claimed && !is.claimed && !is.releasedByPerson {
			faults = append(faults, fmt.Sprintf("Machine %s has lost the mark that another controller set", is.name))
		}
	}
	return faults
}

// counts holds the numbers of moves, aborted moves and rollouts in a history.
type counts struct{ moves, aborted, rollouts int }

// count counts what begins at a moment for which a condition holds.
func (h history) count(holds func(moment) bool) (c counts) {
	for i := range h {
		if !holds(h[i]) {
			continue
		}
		if h.begins(i) {
			c.moves++
		}
		if h.aborts(i) {
			c.aborted++
		}
		if h.rollsOut(i) {
			c.rollouts++
		}
	}
	return c
}

// movesEnd reports more moves than needed, counted from the first one that begins after the faults are over.
func (h history) movesEnd() []string {
	late := h.count(func(m moment) bool { return m.faultsOver })
	needed := 0
	for i := range h {
		if h[i].faultsOver && h.begins(i) {
			needed = needs(h[i])
			break
		}
	}
	var faults []string
	if late.aborted > mostAborted {
		faults = append(faults, fmt.Sprintf("%d moves are aborted although nothing changes any more", late.aborted))
	}
	if late.moves-late.aborted > needed {
		faults = append(faults, fmt.Sprintf("%d moves begin and %d of them are aborted, but %d suffice", late.moves, late.aborted, needed))
	}
	return faults
}

// needs returns the number of moves that spread the machines evenly.
func needs(m moment) int {
	var domains []failuredomain.Domain
	for _, name := range sortedKeys(m.states) {
		domains = append(domains, failuredomain.Domain{Name: name, State: failuredomain.State(m.states[name])})
	}
	var machines []failuredomain.Machine
	for _, is := range m.machines {
		machines = append(machines, failuredomain.Machine{Name: is.name, Domain: is.domain})
	}
	plan, err := failuredomain.Balance(domains, machines, len(machines))
	if err != nil {
		return 0
	}
	return len(plan.Moves)
}

// unsettledControlPlane returns what keeps an undisturbed control plane from being settled.
func unsettledControlPlane(m moment) []string {
	var faults []string
	if !m.complete() && !m.overCapacity() || m.paused {
		faults = append(faults, fmt.Sprintf("the control plane does not settle: %d of %d machines", len(m.machines), m.replicas))
	}
	if m.remediated() {
		faults = append(faults, "the control plane no longer replaces unhealthy machines"+when(!m.leftOver(), ", and no condition reports it"))
	}
	for _, is := range m.machines {
		if is.failing {
			faults = append(faults, fmt.Sprintf("Machine %s fails and is not replaced", is.name))
		}
		if is.touched() {
			faults = append(faults, fmt.Sprintf("Machine %s is still marked", is.name))
		}
	}
	if m.move != nil || m.shown {
		faults = append(faults, "a move is still in progress")
	}
	return append(faults, misspread(m)...)
}

// misspread reports an uneven spread that the condition does not report, and a reported uneven spread that does not exist.
func misspread(m moment) []string {
	wrong, is := uneven(m), m.balanced
	if excused(m) || wrong == "" && is.Status == metav1.ConditionTrue {
		return nil
	}
	return []string{fmt.Sprintf("%s, and ControlPlaneBalanced is %s %s: %s", cmp.Or(wrong, "the machines are spread"), cmp.Or(is.Status, "absent"), is.Reason, is.Message)}
}

// excused reports whether machines may stay unevenly spread although no work is pending: because of a lack of capacity, or because all of
// them have been replaced once for these failure domains.
func excused(m moment) bool {
	if m.balanced.Status != metav1.ConditionFalse {
		return false
	}
	switch m.balanced.Reason {
	case faultlinev1.ReasonNoRoom, faultlinev1.ReasonTargetNotAvailable:
		return m.capacity > 0
	case faultlinev1.ReasonControlPlaneRollingOut:
		return m.overCapacity() // Its controller has chosen a failure domain without capacity.
	case faultlinev1.ReasonRolledOut:
		return !m.rollout.IsZero()
	}
	return false
}

// uneven describes an uneven spread, or returns "". It does not use the planner.
func uneven(m moment) string {
	count := map[string]int{}
	for name, state := range m.states {
		if state == faultlinev1.DomainActive {
			count[name] = 0
		}
	}
	for _, is := range m.machines {
		switch state, known := m.states[is.domain]; {
		case !known || state == faultlinev1.DomainEvicting:
			return fmt.Sprintf("Machine %s is in %q, which must be empty", is.name, is.domain)
		case state == faultlinev1.DomainActive:
			count[is.domain]++
		}
	}
	if len(count) == 0 {
		return ""
	}
	numbers := slices.Sorted(maps.Values(count))
	if fewest, most := numbers[0], numbers[len(numbers)-1]; most-fewest > 1 {
		return fmt.Sprintf("one failure domain has %d machines and another %d", most, fewest)
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
