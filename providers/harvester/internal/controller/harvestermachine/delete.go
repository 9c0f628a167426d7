// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/steps"
	"github.com/faultline-io/faultline/shared/terminalerror"
)

// delete runs the steps that leave nothing behind. None of them looks at a failure domain or at bootstrap data, which may be gone.
func (r *Reconciler) delete(ctx context.Context, s *scope) (ctrl.Result, error) {
	defer s.leave()
	p, err := steps.Run(ctx, s, r.connectToDelete, r.keepAddress, r.deleteVirtualMachine, r.deleteRest, r.releaseAddress, r.letGo)
	if problem := harvester.Denied(err); problem != nil || err != nil && s.abandoned() && !passes(err) {
		if problem == nil {
			problem = &harvester.Problem{Message: err.Error()}
		}
		if p, err = r.blocked(ctx, s, problem); p == steps.Wait {
			p = steps.Retry(terminalerror.Check)
		}
	} else if err != nil {
		p, err = s.explain(err)
	}
	return p.Result(), err
}

// passes reports whether an error is over in a moment by itself.
func passes(err error) bool { return errors.Is(err, harvester.ErrSyncing) || apierrors.IsConflict(err) }

// abandoned reports whether the user lets go of what is on Harvester when that cannot be removed.
func (s *scope) abandoned() bool {
	_, abandoned := s.infra.Annotations[infrav1.AbandonAnnotation]
	return abandoned
}

// connectToDelete gets the connection to Harvester, unless nothing of the machine can be there.
func (r *Reconciler) connectToDelete(ctx context.Context, s *scope) (steps.Progress, error) {
	if !s.begun() {
		return r.letGo(ctx, s)
	}
	if s.infraCluster == nil {
		return r.blocked(ctx, s, &harvester.Problem{Message: "the HarvesterCluster, which says where the virtual machine is, does not exist: create it again"})
	}
	conn, problem := r.Connections.Get(ctx, harvester.TargetOf(s.infraCluster), s.asker())
	if problem == nil {
		problem = conn.Stale()
	}
	if problem != nil {
		return r.blocked(ctx, s, problem)
	}
	status.False(s.infra, infrav1.InfrastructureReadyCondition, infrav1.DeletingReason, "Deleting the virtual machine")
	s.conn = conn
	return s.enter(), nil
}

// blocked keeps a machine whose virtual machine cannot be removed, until its user lets go of what is there.
func (r *Reconciler) blocked(ctx context.Context, s *scope, problem *harvester.Problem) (steps.Progress, error) {
	if s.abandoned() {
		r.warn(s, "Abandoned", "Delete", "Left behind on Harvester, as annotation %s asks for: %s", infrav1.AbandonAnnotation, s.left())
		return r.letGo(ctx, s)
	}
	if !problem.Pending {
		unknown(s, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason, fmt.Sprintf(
			"%s; or set the annotation %s: then the machine goes without Harvester and leaves behind there: %s", problem.Message, infrav1.AbandonAnnotation, s.left()))
	}
	return steps.Wait, nil
}

// left is what of the machine may be on Harvester.
func (s *scope) left() string {
	namespace := "its target namespace"
	if s.infraCluster != nil {
		namespace = "namespace " + s.infraCluster.Spec.TargetNamespace
	}
	left := fmt.Sprintf("VirtualMachine %s and Secret %s in %s, and PersistentVolumeClaims there with the label %s=%s",
		s.infra.Name, virtualmachine.SecretName(s.infra.Name), namespace, infrav1.MachineIDLabel, s.infra.Annotations[infrav1.MachineIDAnnotation])
	if s.infra.Status.AllocatedIPAddress != "" {
		left += fmt.Sprintf(", and address %s in IPPool %s", s.infra.Status.AllocatedIPAddress, s.infra.Status.AllocatedPoolRef)
	}
	return left
}

// deleteVirtualMachine waits until nothing of the machine runs any more. Whatever else has its name is left alone.
func (r *Reconciler) deleteVirtualMachine(ctx context.Context, s *scope) (steps.Progress, error) {
	vm, err := s.own(ctx)
	if err != nil {
		return steps.Wait, err
	}
	if vm == nil {
		return s.awaitInstance(ctx)
	}
	if virtualmachine.Unmarked(vm, s.infra) {
		s.identify()
		if err := s.patch.ApplySpec(ctx, r.Client, s.infra); err != nil {
			return steps.Wait, err
		}
		if err := s.markAll(ctx, vm); err != nil {
			return steps.Wait, err
		}
	}
	if vm.DeletionTimestamp.IsZero() {
		err := s.conn.Delete(ctx, vm, client.Preconditions{UID: &vm.UID})
		if client.IgnoreNotFound(err) != nil {
			return steps.Wait, fmt.Errorf("deleting VirtualMachine %s: %w", s.place(), err)
		}
	}
	status.False(s.infra, infrav1.VMRunningCondition, infrav1.DeletingReason, fmt.Sprintf("Waiting for VirtualMachine %s to be gone", s.place()))
	return steps.Wait, nil
}

// own returns the machine's virtual machine, nil when there is none. The informer need not know one that was made a moment ago, and knows
// only the name of one that is not marked.
func (s *scope) own(ctx context.Context) (*kubevirtv1.VirtualMachine, error) {
	vm := &kubevirtv1.VirtualMachine{}
	err := s.conn.Get(ctx, s.place(), vm)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil || !virtualmachine.Ours(vm, s.infra) || virtualmachine.Unmarked(vm, s.infra) {
		if vm, err = reconcile.Find(ctx, s.conn.Live(), s.place(), &kubevirtv1.VirtualMachine{}); err != nil {
			return nil, err
		}
	}
	if vm == nil || !virtualmachine.Ours(vm, s.infra) {
		return nil, nil
	}
	return vm, nil
}

// awaitInstance waits for the instance of a virtual machine that is gone.
func (s *scope) awaitInstance(ctx context.Context) (steps.Progress, error) {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	err := s.conn.Get(ctx, s.place(), vmi)
	if err == nil && vmi.Labels[infrav1.MachineIDLabel] == s.infra.Annotations[infrav1.MachineIDAnnotation] {
		return steps.Wait, nil
	}
	return steps.Proceed, client.IgnoreNotFound(err)
}

// deleteRest deletes volumes and boot data by the machine's id, and so nobody else's.
func (r *Reconciler) deleteRest(ctx context.Context, s *scope) (steps.Progress, error) {
	id := s.infra.Annotations[infrav1.MachineIDAnnotation]
	if id == "" {
		return steps.Proceed, nil
	}
	for _, kind := range []client.Object{&corev1.PersistentVolumeClaim{}, &corev1.Secret{}} {
		err := s.conn.DeleteAllOf(ctx, kind, client.InNamespace(s.place().Namespace), client.MatchingLabels{infrav1.MachineIDLabel: id})
		if err != nil {
			return steps.Wait, fmt.Errorf("deleting what VirtualMachine %s has left (%T): %w", s.place(), kind, err)
		}
	}
	return steps.Proceed, nil
}

// letGo ends the deletion.
func (r *Reconciler) letGo(_ context.Context, s *scope) (steps.Progress, error) {
	controllerutil.RemoveFinalizer(s.infra, infrav1.MachineFinalizer)
	controllerutil.RemoveFinalizer(s.infra, infrav1.MachineFinalizerLegacy)
	return steps.Wait, nil
}
