// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// takeOver marks a virtual machine from before Faultline, and its objects, as the machine's. No object is recreated, and the virtual
// machine keeps running.
func (r *Reconciler) takeOver(ctx context.Context, s *scope) (reconcile.Progress, error) {
	s.infra.Spec.ProviderID = virtualmachine.ProviderID(s.vm)
	if p, err := r.recordVolumes(ctx, s, s.vm); p != reconcile.Proceed || err != nil {
		return p, err
	}
	if !virtualmachine.Unmarked(s.vm, s.infra) {
		return reconcile.Proceed, nil
	}
	if p := s.acquireSlot(); p != reconcile.Proceed {
		return p, nil
	}
	if err := s.markAll(ctx, s.vm); err != nil {
		return reconcile.Wait, err
	}
	r.event(s, "TakenOver", "TakeOver", "Took over VirtualMachine %s, by its provider ID", s.vmKey())
	return reconcile.Proceed, nil
}

// markAll marks the virtual machine last, so that a marked one has only marked objects. Its volumes are marked when they are recorded.
func (s *scope) markAll(ctx context.Context, vm *kubevirtv1.VirtualMachine) error {
	if err := s.markUnlessForeign(ctx, named(&corev1.Secret{}, vm.Namespace, virtualmachine.SecretName(vm.Name))); err != nil {
		return err
	}
	for _, o := range []client.Object{
		named(&kubevirtv1.VirtualMachineInstance{}, vm.Namespace, vm.Name), named(&kubevirtv1.VirtualMachine{}, vm.Namespace, vm.Name),
	} {
		if err := s.mark(ctx, o); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("taking over %T %s: %w", o, client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}

// markUnlessForeign marks an existing object unless it is already marked as another machine's.
func (s *scope) markUnlessForeign(ctx context.Context, o client.Object) error {
	found, err := reconcile.Find(ctx, s.conn.Live(), client.ObjectKeyFromObject(o), o)
	if err != nil || found == nil || virtualmachine.BelongsToAnother(o, s.infra) || virtualmachine.Marked(o, s.infra) {
		return err
	}
	if err := s.mark(ctx, o); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking over %T %s: %w", o, client.ObjectKeyFromObject(o), err)
	}
	return nil
}

func named[T client.Object](o T, namespace, name string) T {
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// mark sets the machine's id on an object, and makes its events enqueue the machine. Virtual machine and instance also get the labels of
// their group. The template gets the same metadata, so that the next instance has it; this change requires no restart.
func (s *scope) mark(ctx context.Context, o client.Object) error {
	labels := map[string]string{
		infrav1.MachineIDLabel: s.infra.Annotations[infrav1.MachineIDAnnotation], clusterv1.ClusterNameLabel: s.infra.Labels[clusterv1.ClusterNameLabel],
	}
	metadata := map[string]any{
		"labels": labels, "annotations": map[string]string{infrav1.OwnerAnnotation: infrav1.Owner(s.infra.Namespace, s.infra.Name)},
	}
	body := map[string]any{"metadata": metadata}
	switch o.(type) {
	case *kubevirtv1.VirtualMachine:
		maps.Copy(labels, s.groupLabels())
		body["spec"] = map[string]any{"template": map[string]any{"metadata": maps.Clone(metadata)}}
	case *kubevirtv1.VirtualMachineInstance:
		maps.Copy(labels, s.groupLabels())
	}
	if version := o.GetResourceVersion(); version != "" { // fail on conflict if the object was read
		metadata["resourceVersion"] = version
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.conn.Patch(ctx, o, client.RawPatch(types.MergePatchType, data))
}

// groupLabels returns the labels that load balancers and the scheduler use to select the machines of a group.
func (s *scope) groupLabels() map[string]string {
	return placement.Labels(placement.Requirements{
		ClusterID:    s.infraCluster.ID(),
		ControlPlane: s.machine != nil && util.IsControlPlaneMachine(s.machine),
		Deployment:   s.infra.Labels[clusterv1.MachineDeploymentNameLabel],
	})
}
