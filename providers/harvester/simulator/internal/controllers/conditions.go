// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// SetCondition sets a condition of an instance. The transition time is kept while the status does not change.
func SetCondition(
	vmi *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType,
	status corev1.ConditionStatus, reason, message string,
) {
	wanted := kubevirtv1.VirtualMachineInstanceCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
	}
	known := ConditionOf(vmi, kind)
	if known == nil {
		vmi.Status.Conditions = append(vmi.Status.Conditions, wanted)
		return
	}
	if known.Status == status {
		wanted.LastTransitionTime = known.LastTransitionTime
	}
	*known = wanted
}

// RemoveCondition removes a condition from an instance.
func RemoveCondition(vmi *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType) {
	vmi.Status.Conditions = slices.DeleteFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool {
		return c.Type == kind
	})
}

// ConditionOf returns a condition of an instance, or nil.
func ConditionOf(
	vmi *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType,
) *kubevirtv1.VirtualMachineInstanceCondition {
	for i := range vmi.Status.Conditions {
		if vmi.Status.Conditions[i].Type == kind {
			return &vmi.Status.Conditions[i]
		}
	}
	return nil
}
