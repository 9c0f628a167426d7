// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// operator converts a selector's operator. It returns "" for an unknown one.
func operator(of corev1.NodeSelectorOperator) selection.Operator {
	switch of {
	case corev1.NodeSelectorOpIn:
		return selection.In
	case corev1.NodeSelectorOpNotIn:
		return selection.NotIn
	case corev1.NodeSelectorOpExists:
		return selection.Exists
	case corev1.NodeSelectorOpDoesNotExist:
		return selection.DoesNotExist
	case corev1.NodeSelectorOpGt:
		return selection.GreaterThan
	case corev1.NodeSelectorOpLt:
		return selection.LessThan
	default:
		return ""
	}
}

// Unsuited returns why no host of the domain satisfies the required affinity, regardless of the hosts' current state; "" if one does. The
// zero Topology selects all hosts.
func Unsuited(affinity *corev1.NodeAffinity, hosts []Host, domain Topology) string {
	if affinity == nil || affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	members := filterHosts(hosts, func(h Host) bool { return domain == (Topology{}) || matches(h, domain) })
	if len(terms) == 0 || slices.ContainsFunc(members, func(h Host) bool { return matchesAnyTerm(terms, h) }) {
		return ""
	}
	where := "of Harvester"
	if domain != (Topology{}) {
		where = fmt.Sprintf("with the label %s=%s", domain.Key, domain.Value)
	}
	return fmt.Sprintf("no host %s (%s) satisfies spec.nodeAffinity: change the machine's template, or label a host",
		where, hostNames(members))
}

// matchesAnyTerm reports whether the host matches one of the terms. An empty or invalid term matches no host.
func matchesAnyTerm(terms []corev1.NodeSelectorTerm, host Host) bool {
	return slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool {
		return len(term.MatchExpressions)+len(term.MatchFields) > 0 &&
			matchesAll(term.MatchExpressions, host.Labels) && matchesAll(term.MatchFields, map[string]string{"metadata.name": host.Name})
	})
}

func matchesAll(wanted []corev1.NodeSelectorRequirement, values map[string]string) bool {
	return !slices.ContainsFunc(wanted, func(r corev1.NodeSelectorRequirement) bool {
		requirement, err := labels.NewRequirement(r.Key, operator(r.Operator), r.Values)
		return err != nil || !requirement.Matches(labels.Set(values))
	})
}
