// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/shared/failuredomain"
)

// emptied returns the machine of the first move of a group if it must leave its domain; otherwise nil.
func (s *scope) emptied(g *group) *Machine {
	if len(g.moves) == 0 {
		return nil
	}
	if m := s.machine(g.moves[0].Machine); !s.state.mayStay(m) {
		return m
	}
	return nil
}

// heldBy lists why no machine may be taken from the group now. A move that empties a domain only depends on its own
// MachineDeployment.
func (s *scope) heldBy(g *group) []string {
	var why []string
	leaving := s.emptied(g)
	for _, md := range g.deployments {
		if leaving == nil || leaving.Deployment == md.Name {
			why = append(why, s.unsettled(md, leaving)...)
		}
	}
	return why
}

// unsettled lists why no machine may be taken from the MachineDeployment now. leaving is the machine to move if it must leave its
// domain, otherwise nil.
func (s *scope) unsettled(md *clusterv1.MachineDeployment, leaving *Machine) []string {
	allowed := allowedUnavailable(md, leaving)
	why := unavailable(md, allowed)
	var failing []string
	for _, m := range s.of(md.Name) {
		if m.waits() {
			why = append(why, fmt.Sprintf("Machine %s waits for its failure domain", m.Name))
		}
		if m.Unhealthy && leaving != nil && m.Name != leaving.Name {
			failing = append(failing, m.Name)
		}
		why = append(why, markedByOthers(s.members[m.Name].machine)...)
	}
	if len(failing) > allowed {
		why = append(why, fmt.Sprintf("unhealthy: %s", strings.Join(abbreviated(failing), ", ")))
	}
	return why
}

// allowedUnavailable returns how many machines of a MachineDeployment may be unavailable when another one is moved. A move that
// levels allows none. A move that empties a domain allows as many as keep the total, including the moved machine, within
// maxUnavailable of the rolling update, or one. If the moved machine itself does not work, any number is allowed, because it is
// not among the available ones.
func allowedUnavailable(md *clusterv1.MachineDeployment, leaving *Machine) int {
	replicas := int(ptr.Deref(md.Spec.Replicas, 1))
	switch {
	case leaving == nil:
		return 0
	case leaving.Rank == RankUnhealthy:
		return replicas
	}
	most := ptr.Deref(md.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(0))
	allowed, err := intstr.GetScaledValueFromIntOrPercent(&most, replicas, false)
	if err != nil {
		return 0
	}
	return max(allowed, 1) - 1
}

// unavailable lists why the MachineDeployment itself blocks a move, given how many machines may be unavailable.
func unavailable(md *clusterv1.MachineDeployment, allowed int) []string {
	var why []string
	wanted, status := ptr.Deref(md.Spec.Replicas, 1), md.Status
	if paused(md) {
		why = append(why, fmt.Sprintf("MachineDeployment %s is paused", md.Name))
	}
	if status.ObservedGeneration != md.Generation {
		why = append(why, fmt.Sprintf("MachineDeployment %s has just changed", md.Name))
	}
	available, there := ptr.Deref(status.AvailableReplicas, 0), ptr.Deref(status.Replicas, 0)
	if there != wanted || available > wanted || int(wanted-available) > allowed {
		line := fmt.Sprintf("%d of %d replicas of MachineDeployment %s are available", available, wanted, md.Name)
		if allowed > 0 {
			line += fmt.Sprintf(", and its maxUnavailable allows %d to be unavailable while one is moved", allowed)
		}
		why = append(why, line)
	}
	if current := ptr.Deref(status.UpToDateReplicas, 0); current != wanted {
		why = append(why, fmt.Sprintf("%d of %d replicas of MachineDeployment %s are up to date", current, wanted, md.Name))
	}
	return why
}

// checkDeletion returns the machine of a move among the current ones, and what blocks its deletion.
func (s *scope) checkDeletion(md *clusterv1.MachineDeployment, machines []clusterv1.Machine, name string) (*clusterv1.Machine, []string) {
	var leaving *clusterv1.Machine
	var failing, against []string
	for i := range machines {
		machine := &machines[i]
		against = append(against, markedByOthers(machine)...)
		switch {
		case !machine.DeletionTimestamp.IsZero():
			against = append(against, machine.Name)
		case machine.Name == name:
			leaving = machine
		case unhealthy(machine):
			failing = append(failing, machine.Name)
		}
	}
	if leaving == nil || leaving.UID != s.members[name].machine.UID {
		return nil, against
	}
	moved := *s.machine(name)
	moved.Rank = rankOf(leaving)
	var emptied *Machine
	if !s.state.mayStay(&moved) {
		emptied = &moved
	} else if unhealthy(leaving) {
		failing = append(failing, name)
	}
	allowed := allowedUnavailable(md, emptied)
	if len(failing) > allowed {
		against = append(against, failing...)
	}
	return leaving, append(against, unavailable(md, allowed)...)
}

// unhealthyFirst reorders the machines that must leave: those that do not work come first, because losing them costs nothing.
// Destinations may be exchanged.
func (s *scope) unhealthyFirst(moves []failuredomain.Move) {
	var at []int
	var machines []failuredomain.Move
	for i, move := range moves {
		if !s.state.mayStay(s.machine(move.Machine)) {
			at, machines = append(at, i), append(machines, move)
		}
	}
	slices.SortStableFunc(machines, func(a, b failuredomain.Move) int {
		return cmp.Compare(s.machine(b.Machine).Rank, s.machine(a.Machine).Rank)
	})
	for i, move := range machines {
		moves[at[i]].Machine, moves[at[i]].From = move.Machine, move.From
	}
}
