// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// recordVolumes records the names of the machine's disks that do not derive from its spec, because only claims with recorded or derived
// names are deleted with the machine. Virtual machines from before Faultline, and those that Harvester restored from a backup, have such
// disks. recordVolumes also removes the machine's marks from hot-plugged volumes of workloads, which earlier releases marked, too.
func (r *Reconciler) recordVolumes(ctx context.Context, s *scope, vm *kubevirtv1.VirtualMachine) (reconcile.Progress, error) {
	known, disks := virtualmachine.KnownClaims(s.infra), virtualmachine.Disks(vm)
	unknown := slices.DeleteFunc(slices.Clone(disks), func(name string) bool { return slices.Contains(known, name) })
	if len(unknown) == 0 {
		return reconcile.Proceed, nil
	}
	if p := s.acquireSlot(); p != reconcile.Proceed {
		return p, nil
	}
	own, err := s.ownDisks(ctx, vm, unknown)
	if err != nil || len(own) == 0 {
		return reconcile.Proceed, err
	}
	if err := s.unmarkHotPlugged(ctx, vm); err != nil {
		return reconcile.Wait, err
	}
	kept := slices.DeleteFunc(known, func(name string) bool { return !slices.Contains(disks, name) })
	metav1.SetMetaDataAnnotation(&s.infra.ObjectMeta, infrav1.VolumesAnnotation, strings.Join(append(kept, own...), ","))
	return reconcile.Proceed, s.patch.StoreSpec(ctx, r.Client, s.infra)
}

// ownDisks returns the claims that belong to the machine. If the virtual machine is being taken over, ownDisks marks them first.
func (s *scope) ownDisks(ctx context.Context, vm *kubevirtv1.VirtualMachine, names []string) (own []string, _ error) {
	takingOver := virtualmachine.Unmarked(vm, s.infra)
	for _, name := range names {
		claim := named(&corev1.PersistentVolumeClaim{}, vm.Namespace, name)
		if takingOver && virtualmachine.CreatedFor(vm, name) {
			if err := s.markUnlessForeign(ctx, claim); err != nil {
				return nil, err
			}
		}
		claim, err := reconcile.Find(ctx, s.conn.Live(), client.ObjectKeyFromObject(claim), claim)
		if err != nil {
			return nil, err
		}
		if claim != nil && virtualmachine.Marked(claim, s.infra) {
			own = append(own, name)
		}
	}
	return own, nil
}

// unmarkHotPlugged removes the machine's marks from claims that are hot-plugged into its virtual machine.
func (s *scope) unmarkHotPlugged(ctx context.Context, vm *kubevirtv1.VirtualMachine) error {
	for _, name := range virtualmachine.HotPlugged(vm) {
		key := client.ObjectKey{Namespace: vm.Namespace, Name: name}
		claim, err := reconcile.Find(ctx, s.conn.Live(), key, &corev1.PersistentVolumeClaim{})
		if err != nil {
			return err
		}
		if claim == nil || !virtualmachine.Marked(claim, s.infra) {
			continue
		}
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": claim.ResourceVersion,
			"labels":          map[string]any{infrav1.MachineIDLabel: nil, clusterv1.ClusterNameLabel: nil},
			"annotations":     map[string]any{infrav1.OwnerAnnotation: nil},
		}})
		if err != nil {
			return err
		}
		if err := s.conn.Patch(ctx, claim, client.RawPatch(types.MergePatchType, data)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing the marks of VirtualMachine %s from PersistentVolumeClaim %s: %w", s.vmKey(), key, err)
		}
	}
	return nil
}

// deleteVolumes deletes the claims of the machine's disks.
func (r *Reconciler) deleteVolumes(ctx context.Context, s *scope) error {
	var all []func() error
	for _, name := range virtualmachine.KnownClaims(s.infra) {
		claim := named(&corev1.PersistentVolumeClaim{}, s.vmKey().Namespace, name)
		all = append(all, func() error {
			return s.deleteIf(ctx, claim, "PersistentVolumeClaim", func() (bool, error) { return r.isDisk(ctx, s, claim) })
		})
	}
	return runAll(all)
}

// isDisk reports whether a claim with a known name belongs to the machine. Harvester creates claims of images with backend cdi without
// labels and annotations: an unmarked claim belongs to the machine if its name contains the machine's own id.
func (r *Reconciler) isDisk(ctx context.Context, s *scope, claim *corev1.PersistentVolumeClaim) (bool, error) {
	if virtualmachine.Marked(claim, s.infra) {
		return true, nil
	}
	if claim.Labels[infrav1.MachineIDLabel] != "" || claim.Annotations[infrav1.OwnerAnnotation] != "" || !virtualmachine.NameDerivesFromID(s.infra, claim.Name) {
		return false, nil
	}
	of, err := r.idOwner(ctx, s.infra)
	return of == "", err
}
