// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// scheduledCondition is that of the instance's Pod.
const scheduledCondition = kubevirtv1.VirtualMachineInstanceConditionType(corev1.PodScheduled)

func setCondition(
	vmi *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType,
	status corev1.ConditionStatus, reason, message string,
) {
	wanted := kubevirtv1.VirtualMachineInstanceCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
	}
	i := slices.IndexFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool { return c.Type == kind })
	if i < 0 {
		vmi.Status.Conditions = append(vmi.Status.Conditions, wanted)
		return
	}
	if vmi.Status.Conditions[i].Status == status {
		wanted.LastTransitionTime = vmi.Status.Conditions[i].LastTransitionTime
	}
	vmi.Status.Conditions[i] = wanted
}

func dropCondition(vmi *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType) {
	vmi.Status.Conditions = slices.DeleteFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool {
		return c.Type == kind
	})
}

func conditionOf(
	vmi *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType,
) *kubevirtv1.VirtualMachineInstanceCondition {
	for i := range vmi.Status.Conditions {
		if vmi.Status.Conditions[i].Type == kind {
			return &vmi.Status.Conditions[i]
		}
	}
	return nil
}

// copiedConditions are what a virtual machine says of its instance. Their order is that of their names.
func copiedConditions(vmi *kubevirtv1.VirtualMachineInstance) []kubevirtv1.VirtualMachineCondition {
	if vmi == nil {
		return []kubevirtv1.VirtualMachineCondition{{
			Type: kubevirtv1.VirtualMachineReady, Status: corev1.ConditionFalse, Reason: "VMINotExists", Message: "VMI does not exist",
		}}
	}
	var out []kubevirtv1.VirtualMachineCondition
	for _, c := range vmi.Status.Conditions {
		out = append(out, kubevirtv1.VirtualMachineCondition{
			Type: kubevirtv1.VirtualMachineConditionType(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime,
		})
	}
	slices.SortFunc(out, func(a, b kubevirtv1.VirtualMachineCondition) int {
		return strings.Compare(string(a.Type), string(b.Type))
	})
	return out
}

// removeFinalizer lets an object go that has been read.
func removeFinalizer(ctx context.Context, c client.Client, obj client.Object, finalizer string) error {
	before := obj.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(obj, finalizer) {
		return nil
	}
	err := c.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if settled(err) != nil {
		return fmt.Errorf("removing finalizer of %s: %w", obj.GetName(), err)
	}
	return nil
}
