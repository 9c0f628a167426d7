// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// maxReported is the maximum number of MachineDeployments in the status.
const maxReported = 1000

// report writes the spread of the machines to the status, moves a machine if required, and records events about moves. A move is
// stored in the status before its machine is deleted: the write also changes the condition, so it is sent with the
// resourceVersion.
func (r *Reconciler) report(ctx context.Context, s *scope, refused []Refusal) (ctrl.Result, error) {
	wanted, known := s.cluster.Distribution()
	now := r.Clock.Now()
	stable := known.FailureDomainsSince.Add(wanted.Stabilization())
	groups, err := s.groups(now, stable)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.Metrics.SetWorkers(client.ObjectKeyFromObject(s.owner), s.skews(groups))
	unsuited, err := r.unsuited(ctx, s, groups)
	if err != nil {
		return ctrl.Result{}, err
	}
	p, before := patch.From(s.cluster), conditions.Get(s.cluster, faultlinev1.WorkersBalancedCondition).DeepCopy() // changed in place
	p.SharedConditions = true
	ended, err := r.moves(ctx, s, groups)
	if err != nil {
		return ctrl.Result{}, err
	}
	condition, undone := s.condition(groups, refused), r.undone(s)
	if undone != nil {
		condition = removed(undone)
	}
	conditions.Set(s.cluster, condition)
	if err := p.Apply(ctx, r.Client, s.cluster); err != nil {
		return ctrl.Result{}, err
	}
	r.clusters.Observe(s.cluster)
	r.emitEvents(s, ended, before, condition)
	result, err := r.executeMove(ctx, s)
	if err == nil && result.RequeueAfter == 0 {
		cramped := len(refused) > 0 && len(s.state.Capacity) > 0
		result.RequeueAfter = again(resumes(groups, stable, now), moves(groups), unsuited, cramped)
		if undone != nil && (result.RequeueAfter == 0 || undone.Ends < result.RequeueAfter) {
			result.RequeueAfter = undone.Ends
		}
	}
	return result, err
}

// again returns the time after which to reconcile again, 0 if only events trigger it. It waits for the time of the next move, and
// for capacity that suits a machine, which a move needs or which, if cramped, a machine without a domain needs.
func again(resumes time.Duration, moves, unsuited, cramped bool) time.Duration {
	switch {
	case moves && unsuited:
		return max(resumes, recheckInterval)
	case moves && resumes > 0:
		return resumes
	case cramped:
		return recheckInterval
	}
	return 0
}

// resumes returns the time until the first group may make its next move; 0 if no group waits for a time.
func resumes(groups []*group, stable, now time.Time) time.Duration {
	var first time.Duration
	for _, g := range groups {
		wait := max(stable.Sub(now), g.resumes.Sub(now))
		if len(g.moves) > 0 && wait > 0 && (first == 0 || wait < first) {
			first = wait
		}
	}
	return first
}

// recheckInterval is the interval at which to check whether a failure domain suits a machine. A change that makes it suitable need not
// change the reported state of the domain.
const recheckInterval = time.Minute

// unsuited reports whether a move is blocked because nothing in the domain suits its replacement.
func (r *Reconciler) unsuited(ctx context.Context, s *scope, groups []*group) (bool, error) {
	unsuited := r.Provider.Capabilities().Unsuited
	if unsuited == nil {
		return false, nil
	}
	found := false
	for _, g := range groups {
		if len(g.moves) == 0 {
			continue
		}
		machine, to := g.moves[0].Machine, g.moves[0].To
		if s.state.Logical > 0 {
			var err error
			if to, err = s.state.fit(to, machine); err != nil {
				continue // already reported
			}
		}
		why, err := unsuited(ctx, s.members[machine].infra, to)
		if err != nil {
			return false, fmt.Errorf("reading the capacity for the replacement of Machine %s: %w", machine, err)
		}
		if why != "" {
			found = true
			g.against = append(g.against, fmt.Sprintf("failure domain %[2]s does not suit the replacement of Machine %[1]s: %[3]s", machine, to, why))
		}
	}
	return found, nil
}

// removeStatus removes everything about workers from the status, because they are no longer spread.
func (r *Reconciler) removeStatus(ctx context.Context, s *scope) error {
	r.Metrics.SetWorkers(client.ObjectKeyFromObject(s.owner), nil)
	p := patch.From(s.cluster)
	p.SharedConditions = true
	_, known := s.cluster.Distribution()
	known.Workers = nil
	conditions.Delete(s.cluster, faultlinev1.WorkersBalancedCondition)
	if err := p.Apply(ctx, r.Client, s.cluster); err != nil {
		return err
	}
	r.clusters.Observe(s.cluster)
	return nil
}

// reportUndone reports in the condition which writes on machines are removed by another writer, until the next successful report.
func (r *Reconciler) reportUndone(ctx context.Context, s *scope, undone *patch.RemovedError) error {
	p, before := patch.From(s.cluster), conditions.Get(s.cluster, faultlinev1.WorkersBalancedCondition).DeepCopy() // changed in place
	p.SharedConditions = true
	condition := removed(cmp.Or(r.undone(s), undone))
	conditions.Set(s.cluster, condition)
	if err := p.Apply(ctx, r.Client, s.cluster); err != nil {
		return err
	}
	r.clusters.Observe(s.cluster)
	r.emitEvents(s, nil, before, condition)
	return nil
}

func removed(undone *patch.RemovedError) metav1.Condition {
	return metav1.Condition{
		Type: faultlinev1.WorkersBalancedCondition, Status: metav1.ConditionFalse, Reason: faultlinev1.ReasonAnnotationsRemoved, Message: undone.Error(),
	}
}

// undone returns the error about metadata of machines that another writer keeps removing; nil if none exists.
func (r *Reconciler) undone(s *scope) *patch.RemovedError {
	for _, name := range slices.Sorted(maps.Keys(s.members)) { // always the same one first
		m := s.members[name]
		if undone := r.machines.Repeats.Undone(r.Client, m.machine); undone != nil {
			return undone
		}
		if m.infra == nil {
			continue
		}
		if undone := r.machines.Repeats.Undone(r.Client, m.infra); undone != nil {
			return undone
		}
	}
	return nil
}

// outcome is a move that has begun or ended.
type outcome struct {
	deployment string
	move       faultlinev1.MachineMove
}

// moves writes the status of each MachineDeployment, with the moves that continue, end and begin. It returns those that have
// ended or begun.
func (r *Reconciler) moves(ctx context.Context, s *scope, groups []*group) ([]outcome, error) {
	wanted, known := s.cluster.Distribution()
	former := map[string]faultlinev1.WorkersDistributionStatus{}
	for _, workers := range known.Workers {
		former[workers.Name] = workers
	}
	known.Workers = nil
	var changed []outcome
	for _, g := range groups {
		g.deleteOne = wanted.Workers.Rebalance == faultlinev1.WorkersRebalanceDeleteOne
		for _, md := range g.deployments {
			workers := s.counted(md, g)
			workers.CurrentMove, workers.LastMove = former[md.Name].CurrentMove, former[md.Name].LastMove
			ended, err := r.continueMove(ctx, s, md, g, &workers)
			if err != nil {
				return nil, err
			}
			changed = append(changed, ended...)
			known.Workers = append(known.Workers, workers)
		}
		changed = append(changed, s.start(known.Workers, g, r.Clock.Now())...)
	}
	slices.SortFunc(known.Workers, func(a, b faultlinev1.WorkersDistributionStatus) int { return strings.Compare(a.Name, b.Name) })
	known.Workers = known.Workers[:min(len(known.Workers), maxReported)]
	return changed, nil
}

// continueMove updates the current move of a MachineDeployment. Before a move is aborted, it checks in the API server that its machine
// has not been deleted, because the cache may be stale.
func (r *Reconciler) continueMove(
	ctx context.Context, s *scope, md *clusterv1.MachineDeployment, g *group, workers *faultlinev1.WorkersDistributionStatus,
) ([]outcome, error) {
	if workers.CurrentMove == nil {
		return nil, nil
	}
	move := s.progress(md, *workers.CurrentMove, g)
	if move.Phase == faultlinev1.MoveAborted {
		key := client.ObjectKey{Namespace: md.Namespace, Name: move.Machine}
		machine, err := reconcile.Find(ctx, r.Live, key, &clusterv1.Machine{})
		if err != nil {
			return nil, err
		}
		if machine == nil || !machine.DeletionTimestamp.IsZero() {
			move = *workers.CurrentMove
		}
	}
	if move.Phase != faultlinev1.MoveAborted && move.Phase != faultlinev1.MoveCompleted {
		workers.CurrentMove, g.moving = &move, true
		return nil, nil
	}
	move.Finished = metav1.NewTime(r.Clock.Now().UTC().Truncate(time.Second))
	workers.CurrentMove, workers.LastMove = nil, &move
	g.moving = true // not immediately: the next move is decided from the state after this write
	return []outcome{{md.Name, move}}, nil
}

// start begins a move of the group, if one may begin.
func (s *scope) start(all []faultlinev1.WorkersDistributionStatus, g *group, now time.Time) []outcome {
	move := g.begin(now)
	if move == nil {
		return nil
	}
	deployment := s.members[move.Machine].machine.Labels[clusterv1.MachineDeploymentNameLabel]
	for i := range all {
		if all[i].Name == deployment {
			all[i].CurrentMove = move
			return []outcome{{deployment, *move}}
		}
	}
	return nil
}

// executeMove deletes the machines of recorded moves.
func (r *Reconciler) executeMove(ctx context.Context, s *scope) (ctrl.Result, error) {
	_, known := s.cluster.Distribution()
	var result ctrl.Result
	for _, workers := range known.Workers {
		move := workers.CurrentMove
		if move == nil || move.Phase != faultlinev1.MoveStarted {
			continue
		}
		at := slices.IndexFunc(s.deployments, func(md *clusterv1.MachineDeployment) bool { return md.Name == workers.Name })
		if _, there := s.members[move.Machine]; at < 0 || !there {
			continue
		}
		again, err := r.remove(ctx, s, s.deployments[at], move.Machine)
		if err != nil {
			return ctrl.Result{}, err
		}
		if again.RequeueAfter > 0 {
			result = again
		}
	}
	return result, nil
}

// emitEvents records events after the status has been stored.
func (r *Reconciler) emitEvents(s *scope, changed []outcome, before *metav1.Condition, condition metav1.Condition) {
	for _, o := range changed {
		m := o.move
		text := fmt.Sprintf("Machine %s of MachineDeployment %s", m.Machine, o.deployment)
		if !m.Finished.IsZero() {
			r.Metrics.CountMove(client.ObjectKeyFromObject(s.owner), distribution.RoleWorker, string(m.Phase))
		}
		switch m.Phase {
		case faultlinev1.MoveCompleted:
			r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, "WorkerMoved", "Move", "%s", text+" is gone"+replacedBy(m))
		case faultlinev1.MoveAborted:
			r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeWarning, "WorkerMoveAborted", "Move", "%s stays: %s", text, m.Message)
		default:
			r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, "WorkerMoveStarted", "Move",
				"Deleting %s, so that its MachineSet creates one in %s instead of %s", text, m.To, domainOrNone(m.From))
		}
	}
	if worsened(before, condition) {
		r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeWarning, condition.Reason, "Assign", "%s", condition.Message)
	}
}

// worsened reports whether the condition needs an event of its own. Moves have events when they begin and end, and an unbalanced
// state has an event before the first move.
func worsened(before *metav1.Condition, now metav1.Condition) bool {
	was := ""
	if before != nil {
		was = before.Reason
	}
	switch {
	case now.Status != metav1.ConditionFalse || now.Reason == was || now.Reason == faultlinev1.ReasonMoving:
		return false
	case now.Reason == faultlinev1.ReasonNotBalanced:
		return was != faultlinev1.ReasonMoving
	}
	return true
}

func replacedBy(move faultlinev1.MachineMove) string {
	if move.Replacement == "" {
		return ""
	}
	return ", and Machine " + move.Replacement + " is there instead"
}

func domainOrNone(domain string) string {
	if domain == "" {
		return "none"
	}
	return domain
}

// moves reports whether any group has a planned move.
func moves(groups []*group) bool {
	return slices.ContainsFunc(groups, func(g *group) bool { return len(g.moves) > 0 })
}
