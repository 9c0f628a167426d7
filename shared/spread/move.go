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

// group is what is spread together: one MachineDeployment, or all of a class.
type group struct {
	name        string
	deployments []*clusterv1.MachineDeployment
	// moves would spread the machines as they should be; short is why there are no more of them although they would not.
	moves []failuredomain.Move
	short []string
	// left says of which MachineDeployments none is moved to level the group, as another program scales them.
	left []string
	// inVain is how many moves in a row have brought nothing; if that are any, none is made to level the group before resumes.
	inVain  int32
	resumes time.Time
	// against is all that keeps the first move from being made now, but for the user's wish not to make any.
	against []string
	// deleteOne says that moves are to be made.
	deleteOne bool
	// moving says that a machine of the group is being moved.
	moving bool
}

// groups plans every group. stable is when the failure domains will have been the same for long enough.
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
		s.brake(g)
		if now.Before(g.resumes) {
			g.against = append(g.against, s.circle(g))
		}
		if now.Before(stable) {
			g.against = append(g.against, fmt.Sprintf("the failure domains have changed: none is moved before %s", stable.UTC().Format(time.RFC3339)))
		}
	}
	return all, nil
}

// plan finds out how the machines should be moved, whatever speaks against it now, and what does.
func (s *scope) plan(g *group) error {
	wish, err := s.wish(g)
	if err != nil {
		return err
	}
	g.moves, g.left = s.withoutOthers(wish.Moves)
	s.deadFirst(g.moves)
	for _, blocked := range wish.Blocked {
		g.short = append(g.short, distribution.NoRoom(blocked.Message))
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
			g.against = append(g.against, s.wayOut(Refusal{Key: g.moves[0].To, Err: err}))
		}
	}
	return nil
}

// blocking is what the planner has against the first move of a group.
func (s *scope) blocking(g *group, plan failuredomain.Plan) []string {
	var why []string
	for _, blocked := range plan.Blocked {
		switch {
		case blocked.Reason == failuredomain.ReasonNoCapacity: // which is no reason against the moves that fit
		case blocked.Reason == failuredomain.ReasonMachineUnhealthy && s.emptied(g) != nil: // which its budget counts
		default:
			why = append(why, blocked.Message)
		}
	}
	return why
}

// wrongIntents is about what the user may have meant for a domain that has another name.
func (s *scope) wrongIntents() string {
	wanted, _ := s.cluster.Distribution()
	return distribution.WrongIntents(wanted.FailureDomains, func(name string) bool {
		return slices.ContainsFunc(s.state.Domains, func(d failuredomain.Domain) bool { return d.Name == name })
	})
}

// wish is the plan for the machines that stay, as if all of them were well and there were to be so many. Machines that a rollout replaces do not
// stay.
func (s *scope) wish(g *group) (failuredomain.Plan, error) {
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
	return []string{fmt.Sprintf("Machine %s has the annotation %s, which somebody else has set: scale down, or remove it",
		machine.Name, clusterv1.DeleteMachineAnnotation)}
}

// progress says how far the move of a machine of the MachineDeployment has come. It ends it when the machine is gone and the one that
// its MachineSet has made instead has a domain, or none is to be made any more. It takes back a move whose machine has not been
// deleted yet and may not be deleted any more.
func (s *scope) progress(md *clusterv1.MachineDeployment, move faultlinev1.MachineMove, g *group) faultlinev1.MachineMove {
	at, there := s.members[move.Machine]
	move.Message = ""
	switch {
	case there && !at.machine.DeletionTimestamp.IsZero():
		move.Phase = distribution.DeletionPhase(at.machine)
	case there && move.Phase != faultlinev1.MoveStarted: // the cache shows it as it was before
	case there && !g.deleteOne:
		move.Phase, move.Message = faultlinev1.MoveAborted, "spec.distribution.workers.rebalance is not DeleteOne any more"
	case there && !slices.ContainsFunc(g.moves, func(m failuredomain.Move) bool { return m.Machine == move.Machine }):
		move.Phase, move.Message = faultlinev1.MoveAborted, "the machines are to be spread in another way"
	case there && len(g.against) > 0:
		move.Phase, move.Message = faultlinev1.MoveAborted, g.against[0]
	case there:
	default:
		s.replaced(md, &move)
	}
	return move
}

// skew is how far the clocks of API server and manager may be apart.
const skew = time.Minute

// replaced looks for the machine that has been made instead of one that is gone.
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
	move.Phase, move.Message = faultlinev1.MoveReplacing, "its MachineSet has made no other machine yet"
	if staying < int(ptr.Deref(md.Spec.Replicas, 1)) {
		return
	}
	if newest != nil && newest.Created.After(move.Started.Add(-skew)) {
		move.Replacement, move.Message = newest.Name, "the new machine has no failure domain yet"
		if newest.waits() {
			return
		}
	}
	move.Phase, move.Message = faultlinev1.MoveCompleted, ""
}

// begin records the first move of a group, of which none is under way.
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

// remove deletes the machine of a move that is recorded, if everything is still as it was when it was recorded: nothing of it is
// taken from the cache. That the machine is the one that was looked at is left to the API server.
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
	leaving, against := s.standing(live, machines.Items, name)
	if leaving == nil || len(against) > 0 || len(machines.Items) != int(ptr.Deref(live.Spec.Replicas, 1)) {
		return ctrl.Result{RequeueAfter: settle}, nil // the cache will show it, and the move is taken back or goes on
	}
	err := r.Client.Delete(ctx, leaving, client.Preconditions{UID: &leaving.UID, ResourceVersion: &leaving.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("deleting Machine %s, so that its MachineSet makes one elsewhere: %w", name, err)
	}
	return ctrl.Result{}, nil
}
