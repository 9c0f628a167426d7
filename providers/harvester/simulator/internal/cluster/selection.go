// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// MatchesNode reports whether a host matches the node selector and required node affinity of an instance.
func MatchesNode(spec *kubevirtv1.VirtualMachineInstanceSpec, node *corev1.Node) bool {
	for key, value := range spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	required := RequiredNodes(spec.Affinity)
	return required == nil || slices.ContainsFunc(required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			return false
		}
		return matches(term.MatchExpressions, node.Labels) && matches(term.MatchFields, labels.Set{"metadata.name": node.Name})
	})
}

// matches reports whether all requirements are met; an invalid requirement never is.
func matches(requirements []corev1.NodeSelectorRequirement, has labels.Set) bool {
	operators := map[corev1.NodeSelectorOperator]selection.Operator{
		corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
		corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
		corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
	}
	for _, each := range requirements {
		requirement, err := labels.NewRequirement(each.Key, operators[each.Operator], each.Values)
		if err != nil || !requirement.Matches(has) {
			return false
		}
	}
	return true
}

// RequiredNodes returns the required node affinity, or nil.
func RequiredNodes(affinity *corev1.Affinity) *corev1.NodeSelector {
	if affinity == nil || affinity.NodeAffinity == nil {
		return nil
	}
	return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}
