// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/status"
)

// vmName returns the name of the VSphereVM and of the virtual machine, by default the Machine's.
func vmName(s *scope) (string, error) {
	if s.machine == nil {
		return s.infra.Name, nil
	}
	name, err := s.infra.Spec.Naming.VMName(s.machine.Name)
	if err == nil && s.infra.Spec.OS == infrav1.Windows {
		name = infrav1.WindowsVMName(s.machine.Name, name)
	}
	return name, err
}

// ensureVM creates the VSphereVM of a machine that was never provisioned. The bootstrap data of a provisioned machine was
// consumed: a second virtual machine would join with an expired token, or initialize another control plane.
func (r *Reconciler) ensureVM(ctx context.Context, s *scope) (placed bool, err error) {
	if s.infra.Provisioned() {
		reportRemoved(s)
		return false, nil
	}
	if conditions.IsTrue(s.infra, infrav1.VSphereMachinePlacementReadyCondition) { // it may exist without being in the cache yet
		if s.vm, err = findVM(ctx, r.Live, s); err != nil || s.vm != nil {
			return s.vm != nil, err
		}
	}
	return r.placeVM(ctx, s)
}

// reportRemoved reports that a client other than Cluster API deleted the VSphereVM. The condition clears when the VSphereVM is
// restored, for example from a backup.
func reportRemoved(s *scope) {
	name, err := vmName(s)
	if err != nil {
		name = s.machine.Name
	}
	setProvisioned(s.infra, infrav1.VSphereMachineVirtualMachineRemovedReason, fmt.Sprintf(
		"VSphereVM %s was deleted outside Cluster API, together with its virtual machine, which is not recreated: delete Machine %s", name, s.machine.Name))
}

// createVM creates the VSphereVM with the given spec.
func (r *Reconciler) createVM(ctx context.Context, s *scope, spec infrav1.VSphereVMSpec) error {
	name, err := vmName(s)
	if err != nil {
		setProvisioned(s.infra, infrav1.VSphereVMVirtualMachineInvalidSpecReason, fmt.Sprintf("spec.naming.template: %v", err))
		return nil
	}
	spec.BootstrapRef.Name = *s.machine.Spec.Bootstrap.DataSecretName
	vm := &infrav1.VSphereVM{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.infra.Namespace,
			Labels:     map[string]string{clusterv1.ClusterNameLabel: s.cluster.Name},
			Finalizers: []string{infrav1.VMFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereMachine", Name: s.infra.Name, UID: s.infra.UID,
			}},
		},
		Spec: spec,
	}
	copyLabels(s.infra, vm)
	if spec.Thumbprint != "" {
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, thumbprintAnnotation, spec.Thumbprint)
	}
	// The machine's finalizer must be stored before the VSphereVM exists, which only the machine's deletion removes.
	if err := s.patch.StoreSpec(ctx, r.Client, s.infra); err != nil {
		return err
	}
	if err := r.Client.Create(ctx, vm); err != nil && !apierrors.IsAlreadyExists(err) {
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			setProvisioned(s.infra, infrav1.VSphereVMVirtualMachineInvalidSpecReason, err.Error())
			return nil
		}
		return fmt.Errorf("creating VSphereVM %s: %w", name, err)
	}
	r.Recorder.Eventf(s.infra, vm, corev1.EventTypeNormal, "Placed", "Place", "Created VSphereVM %s %s", name, domainText(spec))
	s.vm = vm
	return nil
}

// domainText completes the event about the created VSphereVM.
func domainText(spec infrav1.VSphereVMSpec) string {
	if spec.Placement.FailureDomain == "" {
		return "without a failure domain"
	}
	return "in failure domain " + spec.Placement.FailureDomain
}

// copyLabels copies the owner labels to a VSphereVM. VSphereVMs created by upstream lack the label of their MachineDeployment.
func copyLabels(from *infrav1.VSphereMachine, to *infrav1.VSphereVM) {
	for _, label := range []string{clusterv1.MachineControlPlaneLabel, clusterv1.MachineDeploymentNameLabel, clusterv1.WatchLabel} {
		if value, ok := from.Labels[label]; ok {
			metav1.SetMetaDataLabel(&to.ObjectMeta, label, value)
		}
	}
}

// ownedBy reports whether the machine owns the VSphereVM. A deleted machine may have had the same name, and its VSphereVM may still exist.
func ownedBy(vm *infrav1.VSphereVM, machine *infrav1.VSphereMachine) bool {
	return slices.ContainsFunc(vm.OwnerReferences, func(ref metav1.OwnerReference) bool {
		group, err := schema.ParseGroupVersion(ref.APIVersion)
		return err == nil && group.Group == infrav1.GroupVersion.Group && ref.Kind == "VSphereMachine" && ref.Name == machine.Name && ref.UID == machine.UID
	})
}

func setProvisioned(machine *infrav1.VSphereMachine, reason, message string) {
	status.False(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, reason, message)
}

func summarize(_ context.Context, s *scope) error {
	return status.Summarize(s.infra, infrav1.VSphereMachineVirtualMachineProvisionedCondition)
}
