// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// delete deletes all objects of the machine. No step reads a failure domain or bootstrap data, because these may already be deleted.
func (r *Reconciler) delete(ctx context.Context, s *scope) (ctrl.Result, error) {
	defer s.releaseSlot()
	p, err := reconcile.RunSteps(ctx, s, r.connectToDelete, r.adoptAddress, r.deleteVirtualMachine, r.deleteDependents, r.removeFinalizers)
	switch {
	case err != nil:
		p, err = r.handleDeletionError(ctx, s, err)
	case s.queued:
		s.reportDeletionStarted()
	case s.conn != nil:
		r.failingSince.Delete(s.key())
		s.reportDeleting()
	}
	return p.Result(), err
}

// reportDeletionStarted reports that the machine is being deleted. It keeps a DeletionBlocked condition, because the obstacle may still
// exist.
func (s *scope) reportDeletionStarted() {
	if conditions.GetReason(s.infra, infrav1.InfrastructureReadyCondition) != infrav1.DeletionBlockedReason {
		s.reportDeleting()
	}
}

func (s *scope) reportDeleting() {
	status.False(s.infra, infrav1.InfrastructureReadyCondition, infrav1.DeletingReason, "Deleting the virtual machine")
}

// connectToDelete gets the connection to Harvester, unless the machine cannot have any objects there.
func (r *Reconciler) connectToDelete(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if !s.mayExist() {
		return r.removeFinalizers(ctx, s)
	}
	if s.infraCluster == nil {
		return r.reportBlocked(ctx, s, &harvester.Problem{
			Message: "the HarvesterCluster, which is needed to find the virtual machine, does not exist: create it again"}, metav1.ConditionUnknown)
	}
	conn, problem := r.Connections.GetToDelete(ctx, harvester.TargetOf(s.infraCluster), s.requester())
	if problem == nil {
		problem = conn.Stale()
	}
	if problem != nil {
		return r.reportBlocked(ctx, s, problem, metav1.ConditionUnknown)
	}
	s.conn = conn
	return s.acquireSlot(), nil
}

// deleteVirtualMachine deletes the virtual machine and waits until neither it nor its instance exists. It ignores other objects of that
// name.
func (r *Reconciler) deleteVirtualMachine(ctx context.Context, s *scope) (reconcile.Progress, error) {
	vm, err := s.ownVM(ctx)
	if err != nil {
		return reconcile.Wait, err
	}
	if vm == nil {
		return s.awaitInstanceDeletion(ctx)
	}
	if err := r.markBeforeDeletion(ctx, s, vm); err != nil {
		return reconcile.Wait, err
	}
	if vm.DeletionTimestamp.IsZero() {
		err := s.conn.Delete(ctx, vm, client.Preconditions{UID: &vm.UID})
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Wait, fmt.Errorf("deleting VirtualMachine %s: %w", s.vmKey(), err)
		}
	}
	vmi, err := s.ownInstance(ctx)
	if err != nil {
		return reconcile.Wait, err
	}
	return s.awaitDeletion(ctx, "VirtualMachine", vm, vmi), nil
}

// awaitDeletion reports what the deletion waits for. Hosts are only listed for the message, so an error in listing them is ignored.
func (s *scope) awaitDeletion(ctx context.Context, kind string, vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance) reconcile.Progress {
	deletion := virtualmachine.Deletion{VM: vm, VMI: vmi}
	nodes := &corev1.NodeList{}
	if err := s.conn.List(ctx, nodes, client.UnsafeDisableDeepCopy); err == nil {
		deletion.HostNotReady = hostNotReady(placement.Hosts(nodes.Items), vmi)
	}
	why, again := deletion.WaitMessage(time.Now())
	if why != "" {
		why = ": " + why
	}
	status.False(s.infra, infrav1.VMRunningCondition, infrav1.DeletingReason, fmt.Sprintf("Waiting for %s %s to be deleted%s", kind, s.vmKey(), why))
	if again > 0 {
		return reconcile.Retry(again)
	}
	return reconcile.Wait
}

// markBeforeDeletion marks the virtual machine's objects, so that they can be found after it is deleted.
func (r *Reconciler) markBeforeDeletion(ctx context.Context, s *scope, vm *kubevirtv1.VirtualMachine) error {
	unmarked := virtualmachine.Unmarked(vm, s.infra)
	if unmarked {
		s.identify(vm)
		if err := s.patch.StoreSpec(ctx, r.Client, s.infra); err != nil {
			return err
		}
	}
	if _, err := r.recordVolumes(ctx, s, vm); err != nil || !unmarked {
		return err
	}
	return s.markAll(ctx, vm)
}

// ownVM returns the machine's virtual machine; nil if it does not exist. It reads from Harvester's API server if the cache may not have a
// new one yet, or has only the name of an unmarked one.
func (s *scope) ownVM(ctx context.Context) (*kubevirtv1.VirtualMachine, error) {
	vm := &kubevirtv1.VirtualMachine{}
	err := s.conn.Get(ctx, s.vmKey(), vm)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil || !virtualmachine.BelongsTo(vm, s.infra) || virtualmachine.Unmarked(vm, s.infra) {
		if vm, err = reconcile.Find(ctx, s.conn.Live(), s.vmKey(), &kubevirtv1.VirtualMachine{}); err != nil {
			return nil, err
		}
	}
	if vm == nil || !virtualmachine.BelongsTo(vm, s.infra) {
		return nil, nil
	}
	return vm, nil
}

// awaitInstanceDeletion waits for the instance of a deleted virtual machine to be deleted.
func (s *scope) awaitInstanceDeletion(ctx context.Context) (reconcile.Progress, error) {
	vmi, err := s.ownInstance(ctx)
	if vmi != nil {
		return s.awaitDeletion(ctx, "VirtualMachineInstance", nil, vmi), nil
	}
	s.stopped = err == nil
	return reconcile.Proceed, err
}

// ownInstance returns the instance of the machine's virtual machine, which may itself be deleted; nil if the instance does not exist.
func (s *scope) ownInstance(ctx context.Context) (*kubevirtv1.VirtualMachineInstance, error) {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := s.conn.Get(ctx, s.vmKey(), vmi); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !virtualmachine.Marked(vmi, s.infra) {
		return nil, nil
	}
	return vmi, nil
}

// deleteDependents deletes volumes and boot data, and releases the address, now that no instance uses it. It continues with the other
// objects if Harvester rejects the deletion of one.
func (r *Reconciler) deleteDependents(ctx context.Context, s *scope) (reconcile.Progress, error) {
	var all []func() error
	for _, step := range []func(context.Context, *scope) error{r.deleteVolumes, deleteSecret, r.releaseAddress} {
		all = append(all, func() error { return step(ctx, s) })
	}
	err := runAll(all)
	if err != nil && !reconcile.IsRejected(err) {
		return reconcile.Wait, err
	}
	return reconcile.Proceed, err
}

// runAll runs all functions, continues after rejections by Harvester, and returns the first rejection. It stops at any other error.
func runAll(all []func() error) error {
	var refused error
	for _, run := range all {
		switch err := run(); {
		case err == nil:
		case !reconcile.IsRejected(err):
			return err
		case refused == nil:
			refused = err
		}
	}
	return refused
}

func deleteSecret(ctx context.Context, s *scope) error {
	secret := named(&corev1.Secret{}, s.vmKey().Namespace, virtualmachine.SecretName(s.vmKey().Name))
	return s.deleteIf(ctx, secret, "Secret", func() (bool, error) { return virtualmachine.Marked(secret, s.infra), nil })
}

// deleteIf deletes an object in the machine's namespace if it belongs to the machine and has not changed since it was read. It deletes a
// collection of one object, so that the account needs no additional right.
func (s *scope) deleteIf(ctx context.Context, o client.Object, kind string, ours func() (bool, error)) error {
	key := client.ObjectKeyFromObject(o)
	found, err := reconcile.Find(ctx, s.conn.Live(), key, o)
	if err != nil || found == nil || !o.GetDeletionTimestamp().IsZero() {
		return err
	}
	if own, err := ours(); err != nil || !own {
		return err
	}
	uid, version := o.GetUID(), o.GetResourceVersion()
	err = s.conn.DeleteAllOf(ctx, o, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name},
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil {
		return fmt.Errorf("deleting %s %s of VirtualMachine %s: %w", kind, key, s.vmKey(), err)
	}
	return nil
}

// removeFinalizers removes the finalizers.
func (r *Reconciler) removeFinalizers(_ context.Context, s *scope) (reconcile.Progress, error) {
	controllerutil.RemoveFinalizer(s.infra, infrav1.MachineFinalizer)
	controllerutil.RemoveFinalizer(s.infra, infrav1.MachineFinalizerLegacy)
	return reconcile.Wait, nil
}
