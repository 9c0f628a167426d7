// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// SetReady sets the condition Ready: true if reason is empty, otherwise
// false. It reports whether the condition changed; its times change only
// then.
func SetReady(conditions *[]Condition, reason, message string, now time.Time) bool {
	status := corev1.ConditionTrue
	if reason != "" {
		status = corev1.ConditionFalse
	}
	at := slices.IndexFunc(*conditions, func(c Condition) bool { return c.Type == ReadyCondition })
	if at < 0 {
		at = len(*conditions)
		*conditions = append(*conditions, Condition{Type: ReadyCondition})
	}
	c := &(*conditions)[at]
	if c.Status == status && c.Reason == reason && c.Message == message {
		return false
	}
	stamp := now.UTC().Format(time.RFC3339)
	if c.Status != status {
		c.LastTransitionTime = stamp
	}
	c.Status, c.Reason, c.Message, c.LastUpdateTime = status, reason, message, stamp
	return true
}
