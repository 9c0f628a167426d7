// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// mark is the value of cluster.x-k8s.io/delete-machine that this controller sets.
const mark = "faultline-spread"

// A MachineDeployment with one of these annotations is scaled by the cluster autoscaler, one with the label by Karpenter. They
// mark the machines that they want to remove.
const (
	// autoscalerMinimum on a MachineDeployment is the annotation with the least number of machines for the cluster autoscaler.
	autoscalerMinimum = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	// autoscalerMaximum on a MachineDeployment is the annotation with the greatest number of machines for the cluster autoscaler.
	autoscalerMaximum = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	// karpenterMember on a MachineDeployment is the label of those that Karpenter scales.
	karpenterMember = "node.cluster.x-k8s.io/karpenter-member"
)

// selectNone selects no machines.
func selectNone(*clusterv1.MachineDeployment) ([]string, error) { return nil, nil }

// markForScaleDown makes the MachineSet of each MachineDeployment delete the right machines first when it scales down: it marks
// the machines that choose returns, and no others. It removes outdated marks before it sets new ones.
func (r *Reconciler) markForScaleDown(ctx context.Context, s *scope, choose func(*clusterv1.MachineDeployment) ([]string, error)) (ctrl.Result, error) {
	r.noteMarksOfOthers(s)
	marked := map[string]bool{}
	for _, md := range s.deployments {
		names, err := choose(md)
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("choosing the next machine of MachineDeployment %s to remove: %w", md.Name, err)
		}
		for _, name := range names {
			marked[name] = true
		}
	}
	for _, m := range s.members {
		if r.machines.Stale(m.machine) { // it may be marked
			return reconcile.Again(), nil
		}
	}
	return ctrl.Result{}, r.mark(ctx, s, marked)
}

// noteMarksOfOthers notes the MachineDeployments of whose machines another client has marked one. A program that marks a machine and lowers the
// replicas at once is too fast for the removal of marks that were set ahead: from the second time on there are none.
func (r *Reconciler) noteMarksOfOthers(s *scope) {
	key := client.ObjectKeyFromObject(s.cluster)
	known, _ := r.markedByOthers.Load(key)
	before, _ := known.(map[types.UID]bool)
	s.markedByOthers = map[types.UID]bool{}
	for _, md := range s.deployments {
		machine := s.markedByOther(md)
		if s.markedByOthers[md.UID] = before[md.UID] || machine != ""; machine != "" && !before[md.UID] && scaler(md) == "" {
			r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, "MachineMarkedByOthers", "Mark",
				"Machine %s has the annotation %s, which Faultline has not set: machines of MachineDeployment %s are not marked ahead until the manager restarts. "+
					"If a program scales the MachineDeployment, set its annotation %s", machine, clusterv1.DeleteMachineAnnotation, md.Name, faultlinev1.ScaledByAnnotation)
		}
	}
	r.markedByOthers.Store(key, s.markedByOthers)
}

// markedByOther returns the name of a machine of the MachineDeployment that another client has marked, even if it is being deleted; "" if
// none exists.
func (s *scope) markedByOther(md *clusterv1.MachineDeployment) string {
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		if machine := s.members[name].machine; machine.Labels[clusterv1.MachineDeploymentNameLabel] == md.Name && markOf(machine).Others() {
			return name
		}
	}
	return ""
}

// mark removes marks from the machines that should have none, then marks the others concurrently, because the MachineSet does not
// wait.
func (r *Reconciler) mark(ctx context.Context, s *scope, marked map[string]bool) error {
	var off, on []*clusterv1.Machine
	for _, m := range s.members {
		switch name := m.machine.Name; {
		case isWorker(m.machine) && len(markOf(m.machine).Annotations()) > 0 && !marked[name]:
			off = append(off, m.machine)
		case marked[name] && (markOf(m.machine) != machines.Ours || m.machine.Annotations[faultlinev1.MarkedForMoveAnnotation] == ""):
			on = append(on, m.machine)
		}
	}
	if err := mergeErrors(each(len(off), func(i int) error { return r.annotate(ctx, off[i], unmark) })); err != nil {
		return err
	}
	return mergeErrors(each(len(on), func(i int) error {
		return r.annotate(ctx, on[i], func(machine *clusterv1.Machine) {
			set := with(machine.Annotations, clusterv1.DeleteMachineAnnotation, mark)
			machine.Annotations = with(set, faultlinev1.MarkedForMoveAnnotation, mark)
		})
	}))
}

// annotate writes with the resourceVersion, so that a machine that another client has marked meanwhile is evaluated again.
func (r *Reconciler) annotate(ctx context.Context, machine *clusterv1.Machine, change func(*clusterv1.Machine)) error {
	after := machine.DeepCopy()
	faultlinev1.Rename(after)
	change(after)
	err := r.machines.Repeats.Write(ctx, r.Client, machine, after)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("updating the deletion mark of Machine %s: %w", machine.Name, err)
	}
	if err == nil {
		r.machines.Observe(after)
	}
	return nil
}

// markOf returns the owner of the machine's delete-machine annotation.
func markOf(machine *clusterv1.Machine) machines.Mark {
	whose, _ := machines.MarkOf(machine, mark)
	return whose
}

// unmark removes the annotations of this controller from the machine.
func unmark(machine *clusterv1.Machine) {
	for _, key := range markOf(machine).Annotations() {
		delete(machine.Annotations, key)
	}
}

// selectMarks returns the machines of a MachineDeployment to mark: the right ones to delete next in the order of their names, as far
// as there are some, and as many as are surplus. It returns none if a mark could interfere or has no use: another program or a
// user marks machines; a rollout removes all old machines; the MachineDeployment cannot be scaled. While a machine waits for its
// domain, none is marked ahead, because that machine is deleted first.
func (s *scope) selectMarks(md *clusterv1.MachineDeployment) ([]string, error) {
	if paused(md) || scaler(md) != "" {
		return nil, nil
	}
	all := byAge(s.state.Machines, func(m *Machine) bool { return m.Deployment == md.Name && !m.Deleting })
	marked, waiting, ok := s.markable(all)
	if !ok {
		return nil, nil
	}
	tooMany := len(all) - int(ptr.Deref(md.Spec.Replicas, 1))
	if tooMany >= len(all) { // all of them are deleted
		tooMany = 0
	}
	switch {
	case len(waiting) > 0 && tooMany > 0:
		return s.leaving(md, tooMany, marked, waiting)
	case len(waiting) > 0:
		return nil, nil
	}
	if s.markedByOthers[md.UID] {
		return Marks(s.state, md.Name, marked, 0, tooMany)
	}
	return Marks(s.state, md.Name, marked, maxMarks, tooMany)
}

// markable returns the marked machines, and those that wait for a domain. It reports whether any may be marked.
func (s *scope) markable(all []*Machine) (marked, waiting []string, ok bool) {
	sets := map[string]bool{}
	for _, m := range all {
		machine := s.members[m.Name].machine
		switch whose := markOf(machine); {
		case whose.Others():
			return nil, nil, false
		case whose == machines.Ours:
			marked = append(marked, m.Name)
		}
		if m.waits() {
			waiting = append(waiting, m.Name)
		}
		sets[machine.Labels[clusterv1.MachineSetNameLabel]] = true
	}
	return marked, waiting, len(all) >= 2 && len(sets) == 1
}

// leaving returns the n machines that should be deleted: first the youngest of those that wait for a domain and do not exist yet,
// then marked machines or the next ones to delete.
func (s *scope) leaving(md *clusterv1.MachineDeployment, n int, marked, waiting []string) ([]string, error) {
	slices.Reverse(waiting)
	waiting = waiting[:min(n, len(waiting))]
	others, err := Marks(s.state, md.Name, marked, n-len(waiting), n-len(waiting))
	return append(waiting, others...), err
}

func paused(md *clusterv1.MachineDeployment) bool {
	return ptr.Deref(md.Spec.Paused, false) || annotations.HasPaused(md)
}

// scaler returns who scales the MachineDeployment and chooses the machines to delete; "" if its MachineSet does.
func scaler(md *clusterv1.MachineDeployment) string {
	_, minimum := md.Annotations[autoscalerMinimum]
	_, maximum := md.Annotations[autoscalerMaximum]
	_, karpenter := md.Labels[karpenterMember]
	by, other := faultlinev1.Lookup(md.Annotations, faultlinev1.ScaledByAnnotation)
	switch {
	case other:
		return cmp.Or(by, "another program")
	case minimum || maximum:
		return "the cluster autoscaler"
	case karpenter:
		return "Karpenter"
	}
	return ""
}
