// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
)

// mark is the value of cluster.x-k8s.io/delete-machine that is ours. Whoever overwrites it has made the annotation theirs.
const mark = "faultline-spread"

// A MachineDeployment with one of these annotations is scaled by the cluster autoscaler, which marks the machines itself that it wants
// to remove.
const (
	autoscalerMinimum = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	autoscalerMaximum = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// nobody marks no machine.
func nobody(*clusterv1.MachineDeployment) (string, error) { return "", nil }

// steer has the MachineSet of each MachineDeployment begin with the right machine when it scales down: the one that victim names is
// marked, and no other. Marks that are not right any more are taken off before one is set.
func (r *Reconciler) steer(ctx context.Context, s *scope, victim func(*clusterv1.MachineDeployment) (string, error)) (ctrl.Result, error) {
	marked := map[string]bool{}
	for _, md := range s.deployments {
		name, err := victim(md)
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("choosing the next machine of MachineDeployment %s to remove: %w", md.Name, err)
		}
		if name != "" {
			marked[name] = true
		}
	}
	for _, m := range s.members {
		if r.machines.Behind(m.machine) { // it may be marked
			return ctrl.Result{RequeueAfter: patch.CatchUp}, nil
		}
	}
	return ctrl.Result{}, r.mark(ctx, s, marked)
}

// mark takes the marks off the machines that should have none, then marks the others.
func (r *Reconciler) mark(ctx context.Context, s *scope, marked map[string]bool) error {
	for _, m := range s.members {
		if isWorker(m.machine) && hasOurs(m.machine) && !marked[m.machine.Name] {
			if err := r.annotate(ctx, m.machine, unmarked(m.machine)); err != nil {
				return err
			}
		}
	}
	for name := range marked {
		machine := s.members[name].machine
		if !ours(machine) {
			set := with(machine.Annotations, clusterv1.DeleteMachineAnnotation, mark)
			if err := r.annotate(ctx, machine, with(set, faultlinev1.MarkedForMoveAnnotation, mark)); err != nil {
				return err
			}
		}
	}
	return nil
}

// annotate goes with the resource version: a machine that somebody else has marked meanwhile is looked at again.
func (r *Reconciler) annotate(ctx context.Context, machine *clusterv1.Machine, set map[string]string) error {
	after := machine.DeepCopy()
	after.Annotations = set
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(machine, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("marking Machine %s as the next to go, or not any more: %w", machine.Name, err)
	}
	if err == nil {
		r.machines.Note(after)
	}
	return nil
}

// hasOurs reports whether anything on the machine is to be taken off again.
func hasOurs(machine *clusterv1.Machine) bool {
	_, has := machine.Annotations[faultlinev1.MarkedForMoveAnnotation]
	return has
}

// ours reports whether the machine is marked by us alone.
func ours(machine *clusterv1.Machine) bool {
	return hasOurs(machine) && machine.Annotations[clusterv1.DeleteMachineAnnotation] == mark
}

// theirs reports whether somebody else wants the machine to go first.
func theirs(machine *clusterv1.Machine) bool {
	_, marked := machine.Annotations[clusterv1.DeleteMachineAnnotation]
	return marked && !ours(machine)
}

// unmarked are the machine's annotations without those that are ours.
func unmarked(machine *clusterv1.Machine) map[string]string {
	set := maps.Clone(machine.Annotations)
	if ours(machine) {
		delete(set, clusterv1.DeleteMachineAnnotation)
	}
	delete(set, faultlinev1.MarkedForMoveAnnotation)
	return set
}

// victim names the machine of a MachineDeployment that is to be marked. There is none where a mark could be in somebody's way, or is
// of no use: the autoscaler, or a person, marks machines; machines are rolled out, which removes all old ones; nothing can be scaled.
// While a machine waits for its domain the mark stays where it is.
func (s *scope) victim(md *clusterv1.MachineDeployment) (string, error) {
	if paused(md) || autoscaled(md) {
		return "", nil
	}
	staying, present, sets := 0, "", map[string]bool{}
	waiting := false
	for _, m := range s.of(md.Name) {
		if m.Deleting {
			continue
		}
		machine := s.members[m.Name].machine
		switch {
		case theirs(machine):
			return "", nil
		case ours(machine):
			present = m.Name
		}
		staying++
		waiting = waiting || m.waits()
		sets[machine.Labels[clusterv1.MachineSetNameLabel]] = true
	}
	if staying < 2 || len(sets) > 1 {
		return "", nil
	}
	if waiting && present != "" {
		return present, nil
	}
	return Victim(s.state, md.Name)
}

func paused(md *clusterv1.MachineDeployment) bool {
	return ptr.Deref(md.Spec.Paused, false) || annotations.HasPaused(md)
}

func autoscaled(md *clusterv1.MachineDeployment) bool {
	_, minimum := md.Annotations[autoscalerMinimum]
	_, maximum := md.Annotations[autoscalerMaximum]
	return minimum || maximum
}
