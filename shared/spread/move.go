// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/failuredomain"
)

// group is a set of MachineDeployments that are spread together: a single one, or all of a class.
type group struct {
	name        string
	deployments []*clusterv1.MachineDeployment
	// moves would spread the machines as they should be; short is why more moves are needed but not possible.
	moves []failuredomain.Move
	short []string
	// scaledByOthers lists, as messages, the MachineDeployments for which no machine is moved to level the group, because another program
	// scales them.
	scaledByOthers []string
	// inVain is the number of consecutive moves without effect. If it is positive, no machine is moved to level the group before
	// resumes.
	inVain  int32
	resumes time.Time
	// against lists what blocks the first move now, except for the rebalance mode.
	against []string
	// deleteOne is true if moves should be performed.
	deleteOne bool
	// moving is true if a machine of the group is being moved.
	moving bool
}

// groups plans every group. stable is the time at which the failure domains will have been unchanged for long enough.
func (s *scope) groups(now, stable time.Time) ([]*group, error) {
	var all []*group
	for _, md := range s.deployments {
		name := s.groupOf(md)
		at := slices.IndexFunc(all, func(g *group) bool { return g.name == name })
		if at < 0 {
			at, all = len(all), append(all, &group{name: name})
		}
		all[at].deployments = append(all[at].deployments, md)
	}
	for _, g := range all {
		if err := s.plan(g); err != nil {
			return nil, err
		}
		g.against = append(g.against, s.heldBy(g)...)
		s.detectIneffectiveMoves(g)
		if now.Before(g.resumes) {
			g.against = append(g.against, s.undoneMoveMessage(g))
		}
		if now.Before(stable) {
			g.against = append(g.against, fmt.Sprintf("the failure domains have changed: no machine is moved before %s", stable.UTC().Format(time.RFC3339)))
		}
	}
	return all, nil
}

// plan determines how the machines should be moved, and what blocks it now.
func (s *scope) plan(g *group) error {
	desired, err := s.desiredPlan(g)
	if err != nil {
		return err
	}
	g.moves, g.scaledByOthers = s.withoutOthers(desired.Moves)
	s.unhealthyFirst(g.moves)
	for _, blocked := range desired.Blocked {
		g.short = append(g.short, distribution.WithCapacityFix(blocked.Message))
	}
	if wrong := s.wrongIntents(); wrong != "" {
		g.against = append(g.against, wrong)
	}
	replicas := 0
	for _, md := range g.deployments {
		replicas += int(ptr.Deref(md.Spec.Replicas, 1))
	}
	allowed, err := Plan(s.state, g.name, replicas)
	if err != nil {
		return err
	}
	g.against = append(g.against, s.blocking(g, allowed)...)
	if s.state.Logical > 0 && len(g.moves) > 0 {
		if err := Fits(s.state, g.moves[0].To, g.moves[0].Machine); err != nil {
			g.against = append(g.against, s.fix(Refusal{Key: g.moves[0].To, Err: err}))
		}
	}
	return nil
}

// blocking lists the planner's reasons against the first move of a group.
func (s *scope) blocking(g *group, plan failuredomain.Plan) []string {
	var why []string
	for _, blocked := range plan.Blocked {
		switch {
		case blocked.Reason == failuredomain.ReasonNoCapacity: // does not block the moves that fit
		case blocked.Reason == failuredomain.ReasonMachineUnhealthy && s.emptied(g) != nil: // counted by its budget
		default:
			why = append(why, blocked.Message)
		}
	}
	return why
}

// wrongIntents checks for entries of the spec that match no domain, because the user may have meant another one.
func (s *scope) wrongIntents() string {
	wanted, _ := s.cluster.Distribution()
	return distribution.InvalidIntents(wanted.FailureDomains, func(name string) bool {
		return slices.ContainsFunc(s.state.Domains, func(d failuredomain.Domain) bool { return d.Name == name })
	})
}

// desiredPlan returns the plan for the machines that stay, as if all were healthy and their number were the desired one. Machines that a
// rollout replaces do not stay.
func (s *scope) desiredPlan(g *group) (failuredomain.Plan, error) {
	there, settled, newest := 0, s.state, s.state.newest()
	settled.Machines = slices.DeleteFunc(slices.Clone(s.state.Machines), func(m Machine) bool {
		return m.Deleting || m.Deployment != "" && m.Set != newest[m.Deployment]
	})
	for i := range settled.Machines {
		m := &settled.Machines[i]
		m.Unhealthy = false
		if m.Deployment != "" && s.state.group(m) == g.name && !m.waits() {
			there++
		}
	}
	return Plan(settled, g.name, there)
}

func markedByOthers(machine *clusterv1.Machine) []string {
	if !markOf(machine).Others() || !machine.DeletionTimestamp.IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("Machine %s has the annotation %s, which Faultline has not set: scale down, or remove it",
		machine.Name, clusterv1.DeleteMachineAnnotation)}
}

// progress returns the current state of a machine's move. The move ends when the machine has been deleted and its replacement has
// a domain, or when no replacement will be created. It is aborted if its machine has not been deleted and may no longer be.
func (s *scope) progress(md *clusterv1.MachineDeployment, move faultlinev1.MachineMove, g *group) faultlinev1.MachineMove {
	at, there := s.members[move.Machine]
	move.Message = ""
	switch {
	case there && !at.machine.DeletionTimestamp.IsZero():
		move.Phase = distribution.DeletionPhase(at.machine)
	case there && move.Phase != faultlinev1.MoveStarted: // the cache shows the old state
	case there && !g.deleteOne:
		move.Phase, move.Message = faultlinev1.MoveAborted, "spec.distribution.workers.rebalance is no longer DeleteOne"
	case there && !slices.ContainsFunc(g.moves, func(m failuredomain.Move) bool { return m.Machine == move.Machine }):
		move.Phase, move.Message = faultlinev1.MoveAborted, "the machines must be spread differently"
	case there && len(g.against) > 0:
		move.Phase, move.Message = faultlinev1.MoveAborted, g.against[0]
	case there:
	default:
		s.replaced(md, &move)
	}
	return move
}

// skew is the maximum clock difference between the API server and the manager.
const skew = time.Minute

// replaced sets the move's replacement for a machine that has been deleted.
func (s *scope) replaced(md *clusterv1.MachineDeployment, move *faultlinev1.MachineMove) {
	var newest *Machine
	staying := 0
	for _, m := range s.of(md.Name) {
		if m.Deleting {
			continue
		}
		staying++
		if newest == nil || oldestFirst(newest, m) < 0 {
			newest = m
		}
	}
	move.Phase, move.Message = faultlinev1.MoveReplacing, "its MachineSet has not created a replacement yet"
	if staying < int(ptr.Deref(md.Spec.Replicas, 1)) {
		return
	}
	if newest != nil && newest.Created.After(move.Started.Add(-skew)) {
		move.Replacement, move.Message = newest.Name, "the replacement has no failure domain yet"
		if newest.waits() {
			return
		}
	}
	move.Phase, move.Message = faultlinev1.MoveCompleted, ""
}

// begin returns the first move of a group without a current move.
func (g *group) begin(now time.Time) *faultlinev1.MachineMove {
	if !g.deleteOne || g.moving || len(g.moves) == 0 || len(g.against) > 0 {
		return nil
	}
	g.moving = true
	return &faultlinev1.MachineMove{
		PlannedMove: planned(g.moves[0]), Phase: faultlinev1.MoveStarted, Started: metav1.NewTime(now.UTC().Truncate(time.Second)),
		Planned: ptr.To(int32(min(len(g.moves), math.MaxInt32))), InVain: ptr.To(g.inVain),
	}
}

func planned(move failuredomain.Move) faultlinev1.PlannedMove {
	return faultlinev1.PlannedMove{Machine: move.Machine, From: move.From, To: move.To}
}

// remove deletes the machine of a recorded move if the state is still as it was when it was recorded. It reads everything from
// the API server. A precondition ensures that the deleted machine is the one that was checked.
func (r *Reconciler) remove(ctx context.Context, s *scope, md *clusterv1.MachineDeployment, name string) (ctrl.Result, error) {
	live, machines := &clusterv1.MachineDeployment{}, &clusterv1.MachineList{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(md), live); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.Live.List(ctx, machines, client.InNamespace(md.Namespace), client.MatchingLabels{
		clusterv1.ClusterNameLabel: s.owner.Name, clusterv1.MachineDeploymentNameLabel: md.Name,
	}); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing Machines of MachineDeployment %s: %w", md.Name, err)
	}
	leaving, against := s.checkDeletion(live, machines.Items, name)
	if leaving == nil || len(against) > 0 || len(machines.Items) != int(ptr.Deref(live.Spec.Replicas, 1)) {
		return ctrl.Result{RequeueAfter: settlePeriod}, nil // once the cache has caught up, the move is aborted or continued
	}
	err := r.Client.Delete(ctx, leaving, client.Preconditions{UID: &leaving.UID, ResourceVersion: &leaving.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("deleting Machine %s to move it to another failure domain: %w", name, err)
	}
	return ctrl.Result{}, nil
}
