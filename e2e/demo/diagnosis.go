// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// findings lists, for each object, the conditions that report a problem and pending deletions.
func findings(objects []unstructured.Unstructured) string {
	var text strings.Builder
	for i := range objects {
		object := &objects[i]
		var lines []string
		if object.GetDeletionTimestamp() != nil {
			lines = append(lines, "is being deleted; finalizers "+strings.Join(object.GetFinalizers(), ", "))
		}
		all, _ := conditions.UnstructuredGetAll(object) // Malformed conditions are ignored.
		for _, c := range all {
			if bad(c) {
				lines = append(lines, oneLine(words(c)))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&text, "  %s %s\n    %s\n", object.GetKind(), object.GetName(), strings.Join(lines, "\n    "))
		}
	}
	return text.String()
}

// bad reports whether a condition is a finding. Most conditions are healthy when True; those that report ongoing work are healthy when
// False.
func bad(c metav1.Condition) bool {
	goingOn := []string{
		clusterv1.DeletingCondition, clusterv1.ScalingUpCondition, clusterv1.ScalingDownCondition,
		clusterv1.RollingOutCondition, clusterv1.RemediatingCondition, clusterv1.PausedCondition, clusterv1.MachineUpdatingCondition,
	}
	if slices.Contains(goingOn, c.Type) {
		return c.Status == metav1.ConditionTrue
	}
	return c.Status != metav1.ConditionTrue
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
