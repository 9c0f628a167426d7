// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// scheduledCondition is copied from the instance's Pod.
const scheduledCondition = kubevirtv1.VirtualMachineInstanceConditionType(corev1.PodScheduled)

// report writes the status.
func (r *machines) report(
	ctx context.Context, vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance, missing []string,
	before kubevirtv1.VirtualMachineStatus,
) error {
	strategy, err := vm.RunStrategy()
	if err != nil {
		return fmt.Errorf("reading the run strategy: %w", err)
	}
	vm.Status.RunStrategy, vm.Status.ObservedGeneration, vm.Status.DesiredGeneration = strategy, vm.Generation, vm.Generation
	vm.Status.Created = vmi != nil
	ready := vmi != nil && controllers.ConditionOf(vmi, kubevirtv1.VirtualMachineInstanceReady) != nil
	vm.Status.Ready = ready && controllers.ConditionOf(vmi, kubevirtv1.VirtualMachineInstanceReady).Status == corev1.ConditionTrue
	vm.Status.Conditions = copiedConditions(vm.Status.Conditions, vmi)
	vm.Status.PrintableStatus = printable(vm, vmi, missing)
	if vmi != nil && hasRun(vmi) {
		vm.Status.StartFailure = nil
	}
	return r.write(ctx, vm, before)
}

// write writes the status if it has changed.
func (r *machines) write(ctx context.Context, vm *kubevirtv1.VirtualMachine, before kubevirtv1.VirtualMachineStatus) error {
	if apiequality.Semantic.DeepEqual(before, vm.Status) {
		return nil
	}
	if err := r.client.Status().Update(ctx, vm); controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("updating status: %w", err)
	} else if err == nil {
		r.written.Wrote(vm)
	}
	return nil
}

// printable returns the status that users see.
func printable(
	vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance, missing []string,
) kubevirtv1.VirtualMachinePrintableStatus {
	switch {
	case vm.DeletionTimestamp != nil:
		return kubevirtv1.VirtualMachineStatusTerminating
	case len(missing) > 0:
		return kubevirtv1.VirtualMachineStatusPvcNotFound
	case vmi != nil:
		return printableOf(vmi)
	case vm.Status.RunStrategy != kubevirtv1.RunStrategyHalted && vm.Status.StartFailure != nil:
		return kubevirtv1.VirtualMachineStatusCrashLoopBackOff
	}
	return kubevirtv1.VirtualMachineStatusStopped
}

// printableOf returns the status of a virtual machine with an instance.
func printableOf(vmi *kubevirtv1.VirtualMachineInstance) kubevirtv1.VirtualMachinePrintableStatus {
	if vmi.DeletionTimestamp != nil {
		return kubevirtv1.VirtualMachineStatusStopping
	}
	if c := controllers.ConditionOf(vmi, scheduledCondition); c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
		return kubevirtv1.VirtualMachineStatusUnschedulable
	}
	switch vmi.Status.Phase {
	case kubevirtv1.Pending:
		return kubevirtv1.VirtualMachineStatusWaitingForVolumeBinding
	case kubevirtv1.Running:
		if isMigrating(vmi) {
			return kubevirtv1.VirtualMachineStatusMigrating
		}
		if controllers.ConditionOf(vmi, kubevirtv1.VirtualMachineInstancePaused) != nil {
			return kubevirtv1.VirtualMachineStatusPaused
		}
		return kubevirtv1.VirtualMachineStatusRunning
	case kubevirtv1.Failed, kubevirtv1.Succeeded:
		return kubevirtv1.VirtualMachineStatusStopped
	}
	return kubevirtv1.VirtualMachineStatusStarting
}

// copiedConditions returns the conditions that a virtual machine copies from its instance, sorted by name. Without an instance it
// keeps those of the last one.
func copiedConditions(
	before []kubevirtv1.VirtualMachineCondition, vmi *kubevirtv1.VirtualMachineInstance,
) []kubevirtv1.VirtualMachineCondition {
	var out []kubevirtv1.VirtualMachineCondition
	if vmi == nil {
		for _, c := range before {
			if c.Type != kubevirtv1.VirtualMachineReady {
				out = append(out, c)
			}
		}
		out = append(out, kubevirtv1.VirtualMachineCondition{
			Type: kubevirtv1.VirtualMachineReady, Status: corev1.ConditionFalse, Reason: "VMINotExists", Message: "VMI does not exist",
		})
	} else {
		for _, c := range vmi.Status.Conditions {
			out = append(out, kubevirtv1.VirtualMachineCondition{
				Type: kubevirtv1.VirtualMachineConditionType(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message,
				LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	slices.SortFunc(out, func(a, b kubevirtv1.VirtualMachineCondition) int {
		return strings.Compare(string(a.Type), string(b.Type))
	})
	return out
}
