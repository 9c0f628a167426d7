// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// handleNameConflict handles a foreign object that has the machine's name on Harvester. If it belongs to another machine, for example of
// another management cluster, this machine gets a different name and repeats the step. Otherwise the machine is held, because a user may
// need the object.
func (r *Reconciler) handleNameConflict(ctx context.Context, s *scope, by client.Object, step func(context.Context, *scope) (reconcile.Progress, error)) (reconcile.Progress, error) {
	another, p, err := s.belongsToAnotherMachine(ctx, by)
	switch {
	case err != nil || p != reconcile.Proceed:
		return p, err
	case !another:
		return r.holdForForeign(s, by)
	}
	s.identify(nil)
	metav1.SetMetaDataAnnotation(&s.infra.ObjectMeta, infrav1.VirtualMachineNameAnnotation, virtualmachine.UniqueName(s.infra))
	// The name is stored before any object has it, together with the id that it derives from.
	if err := s.patch.StoreSpec(ctx, r.Client, s.infra); err != nil {
		return reconcile.Wait, err
	}
	r.event(s, "NamedApart", "Create", "%s %s on Harvester belongs to another machine: VirtualMachine and Node of this machine are named %s",
		kindOf(by), by.GetName(), s.vmKey().Name)
	return step(ctx, s)
}

// belongsToAnotherMachine reports whether the object belongs to another machine and this one can change its name. A machine that was
// created cannot, and a second name does not collide by chance. A virtual machine without an id is read from Harvester, because the cache
// holds only its name.
func (s *scope) belongsToAnotherMachine(ctx context.Context, by client.Object) (bool, reconcile.Progress, error) {
	if s.infra.Spec.ProviderID != "" || s.infra.Annotations[infrav1.VirtualMachineNameAnnotation] != "" {
		return false, reconcile.Proceed, nil
	}
	if by.GetLabels()[infrav1.MachineIDLabel] != "" {
		return true, reconcile.Proceed, nil
	}
	if _, isVM := by.(*kubevirtv1.VirtualMachine); !isVM {
		return false, reconcile.Proceed, nil
	}
	if p := s.acquireSlot(); p != reconcile.Proceed {
		return false, p, nil
	}
	vm, err := reconcile.Find(ctx, s.conn.Live(), client.ObjectKeyFromObject(by), &kubevirtv1.VirtualMachine{})
	return vm != nil && virtualmachine.BelongsToAnotherMachine(vm, s.cluster.Name), reconcile.Proceed, err
}

// holdForForeign holds the machine because its name belongs to a foreign object, whose events do not enqueue the machine.
func (r *Reconciler) holdForForeign(s *scope, by client.Object) (reconcile.Progress, error) {
	r.hold(s, distribution.Refusal{Reason: infrav1.VirtualMachineNotOursReason, Message: fmt.Sprintf(
		"%s %s on Harvester does not belong to this machine: its label %s or annotation %s differs or is missing; delete the Machine to replace it "+
			"with one of another name, or delete the object on Harvester", kindOf(by), client.ObjectKeyFromObject(by), infrav1.MachineIDLabel, infrav1.OwnerAnnotation)})
	return reconcile.Retry(reconcile.RefusedPause), nil
}

func kindOf(o client.Object) string {
	if _, isVM := o.(*kubevirtv1.VirtualMachine); isVM {
		return "VirtualMachine"
	}
	return "Secret"
}
