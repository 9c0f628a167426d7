// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
)

// withoutOthers removes the moves that would level machines of MachineDeployments scaled by another program, and lists these.
// That program has a purpose for each machine: it would replace in one failure domain what is moved to another.
func (s *scope) withoutOthers(moves []failuredomain.Move) (kept []failuredomain.Move, scaled []string) {
	levelled := map[string]int{}
	for _, move := range moves {
		m := s.machine(move.Machine)
		if s.scaler(m.Deployment) == "" || !s.state.mayStay(m) {
			kept = append(kept, move)
			continue
		}
		levelled[m.Deployment]++
	}
	for _, name := range slices.Sorted(maps.Keys(levelled)) {
		scaled = append(scaled, fmt.Sprintf("MachineDeployment %s is scaled by %s, which chooses its machines: %d would have to move to balance it, and none is moved",
			name, s.scaler(name), levelled[name]))
	}
	return kept, scaled
}

// scaler returns the scaler of the MachineDeployment with the name.
func (s *scope) scaler(deployment string) string {
	for _, md := range s.deployments {
		if md.Name == deployment {
			return scaler(md)
		}
	}
	return ""
}

// machine returns the machine with the name, which must exist.
func (s *scope) machine(name string) *Machine {
	return &s.state.Machines[slices.IndexFunc(s.state.Machines, func(m Machine) bool { return m.Name == name })]
}

// detectIneffectiveMoves detects moves of a group that another controller undoes. If the last move was completed and at least as
// many moves to the same domain are planned as before it, another controller removes machines from that domain. Then the next
// move that only levels is delayed, each time twice as long. It is not delayed if the failure domains have changed since, which
// is a reason for more moves.
func (s *scope) detectIneffectiveMoves(g *group) {
	last := s.last(g)
	if last == nil || len(g.moves) == 0 {
		return
	}
	g.inVain = ptr.Deref(last.InVain, 0)
	_, known := s.cluster.Distribution()
	same := last.Planned != nil && g.moves[0].To == last.To && len(g.moves) >= int(*last.Planned) && !known.FailureDomainsSince.After(last.Started.Time)
	switch {
	case last.Phase != faultlinev1.MoveCompleted:
	case !same:
		g.inVain = 0
	case s.state.mayStay(s.machine(g.moves[0].Machine)):
		g.resumes = last.Finished.Add(min(pause<<min(g.inVain, 5), longestPause))
		g.inVain++
	}
}

// pause is how long no machine is moved after the first move without effect, longestPause is the limit after many.
const (
	pause        = time.Hour
	longestPause = 24 * time.Hour
)

// last returns the most recently finished move of the group.
func (s *scope) last(g *group) *faultlinev1.MachineMove {
	_, known := s.cluster.Distribution()
	var last *faultlinev1.MachineMove
	for i := range known.Workers {
		workers := &known.Workers[i]
		ours := slices.ContainsFunc(g.deployments, func(md *clusterv1.MachineDeployment) bool { return md.Name == workers.Name })
		if ours && workers.LastMove != nil && (last == nil || last.Finished.Before(&workers.LastMove.Finished)) {
			last = workers.LastMove
		}
	}
	return last
}

// undoneMoveMessage explains why no machine is moved before a time.
func (s *scope) undoneMoveMessage(g *group) string {
	replacement := "a machine"
	if last := s.last(g); last.Replacement != "" {
		replacement = "Machine " + last.Replacement
	}
	return fmt.Sprintf("the last move brought %s to %s, and machines are missing there again, so another client removes them: no machine is moved before %s. "+
		"If a program scales the MachineDeployment, set its annotation %s",
		replacement, g.moves[0].To, g.resumes.UTC().Format(time.RFC3339), faultlinev1.ScaledByAnnotation)
}
