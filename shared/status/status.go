// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status sets conditions in the same way on every kind.
package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is an object with conditions.
type Object interface {
	client.Object
	conditions.Setter
}

// True sets a condition to True.
func True(obj Object, conditionType, reason string) {
	conditions.Set(obj, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason})
}

// False sets a condition to False. message states what the user can do, or what the object waits for.
func False(obj Object, conditionType, reason, message string) {
	conditions.Set(obj, metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: message})
}

// Paused sets the Paused condition and returns its argument.
func Paused(obj Object, paused bool) bool {
	if paused {
		True(obj, clusterv1.PausedCondition, clusterv1.PausedReason)
	} else {
		False(obj, clusterv1.PausedCondition, clusterv1.NotPausedReason, "")
	}
	return paused
}

// Summarize sets the Ready condition from the conditions of the given types. A condition that is not set yet counts as unknown.
func Summarize(obj Object, types ...string) error {
	return conditions.SetSummaryCondition(obj, obj, clusterv1.ReadyCondition, conditions.ForConditionTypes(types),
		conditions.CustomMergeStrategy{MergeStrategy: conditions.DefaultMergeStrategy(
			conditions.ComputeReasonFunc(conditions.GetDefaultComputeMergeReasonFunc(
				clusterv1.NotReadyReason, clusterv1.ReadyUnknownReason, clusterv1.ReadyReason)),
		)})
}
