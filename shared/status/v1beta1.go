// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/text"
)

// V1Beta1 configures which conditions of a kind are also shown in the format of v1beta1, for clients that read that version or
// status.deprecated of the next one. The zero value is for kinds without such a version.
type V1Beta1 struct {
	// Conditions lists the conditions other than Ready, which summarizes them.
	Conditions []V1Beta1Condition
	// Gone lists upstream conditions that are not set here. If an object has one, it was left from before it was taken over, and
	// is removed.
	Gone []string
}

// V1Beta1Condition describes a v1beta1 condition and the condition from which it is derived.
type V1Beta1Condition struct {
	Type clusterv1.ConditionType //nolint:staticcheck // it is what v1beta1 has
	From string
	// Severity is the severity if the condition is False. It is Info if the condition only reports progress.
	Severity clusterv1.ConditionSeverity //nolint:staticcheck // it is what v1beta1 has
	// Reasons maps reasons to the names they have in v1beta1.
	Reasons map[string]string
	// Progress lists further reasons that only report progress. Deleting and reasons with the prefix Waiting are implied.
	Progress []string
}

// v1beta1Object is an object that shows conditions in the format of v1beta1. SetV1Beta1Conditions clears failureReason and
// failureMessage, because every failure is retried.
type v1beta1Object interface {
	Object
	SetV1Beta1Conditions(conditions clusterv1.Conditions) //nolint:staticcheck // it is what v1beta1 has
}

// longest is the maximum length of a message in v1beta1, in bytes.
const longest = 10240

// Show replaces the v1beta1 conditions with those derived from the object's conditions; conditions left by another manager are
// removed. It also removes v1beta1 conditions from the object's own conditions: a release that served both versions without a
// conversion stored them there.
func (v V1Beta1) Show(obj client.Object) {
	o, ok := obj.(v1beta1Object)
	if !ok || len(v.Conditions) == 0 {
		return
	}
	for _, gone := range v.Gone {
		conditions.Delete(o, gone)
	}
	for _, condition := range v.Conditions {
		if string(condition.Type) != condition.From {
			conditions.Delete(o, string(condition.Type))
		}
	}
	o.SetV1Beta1Conditions(v.from(o.GetConditions()))
}

// from derives the v1beta1 conditions: Ready first, the others sorted by type.
func (v V1Beta1) from(known []metav1.Condition) clusterv1.Conditions { //nolint:staticcheck // it is what v1beta1 has
	var shown clusterv1.Conditions //nolint:staticcheck // it is what v1beta1 has
	for _, condition := range v.Conditions {
		if from := find(known, condition.From); from != nil {
			shown = append(shown, condition.from(from))
		}
	}
	slices.SortFunc(shown, func(a, b clusterv1.Condition) int { return strings.Compare(string(a.Type), string(b.Type)) }) //nolint:staticcheck // it is what v1beta1 has
	if ready := find(known, clusterv1.ReadyCondition); ready != nil {
		shown = slices.Insert(shown, 0, sum(ready, shown))
	}
	return shown
}

func find(known []metav1.Condition, conditionType string) *metav1.Condition {
	if i := slices.IndexFunc(known, func(c metav1.Condition) bool { return c.Type == conditionType }); i >= 0 {
		return &known[i]
	}
	return nil
}

// from omits the reason if the condition is True, and sets a severity if it is False, as is usual in v1beta1.
func (c V1Beta1Condition) from(from *metav1.Condition) clusterv1.Condition { //nolint:staticcheck // it is what v1beta1 has
	shown := clusterv1.Condition{Type: c.Type, Status: corev1.ConditionStatus(from.Status), LastTransitionTime: from.LastTransitionTime} //nolint:staticcheck // it is what v1beta1 has
	if from.Status == metav1.ConditionTrue {
		return shown
	}
	shown.Reason, shown.Message = from.Reason, text.Truncate(text.Steady(from.Message), longest)
	if other, ok := c.Reasons[from.Reason]; ok {
		shown.Reason = other
	}
	if from.Status == metav1.ConditionFalse {
		shown.Severity = c.Severity
		if strings.HasPrefix(from.Reason, "Waiting") || from.Reason == clusterv1.DeletingReason || slices.Contains(c.Progress, from.Reason) {
			shown.Severity = clusterv1.ConditionSeverityInfo
		}
	}
	return shown
}

// sum returns Ready with reason, severity and message of the most severe other condition, which are more specific than a summary.
func sum(ready *metav1.Condition, others clusterv1.Conditions) clusterv1.Condition { //nolint:staticcheck // it is what v1beta1 has
	shown := V1Beta1Condition{Type: clusterv1.ReadyCondition, Severity: clusterv1.ConditionSeverityInfo}.from(ready)
	if ready.Status == metav1.ConditionTrue {
		return shown
	}
	for _, severity := range []clusterv1.ConditionSeverity{clusterv1.ConditionSeverityError, clusterv1.ConditionSeverityWarning, clusterv1.ConditionSeverityInfo} { //nolint:staticcheck // it is what v1beta1 has
		for _, other := range others {
			if other.Status == corev1.ConditionFalse && other.Severity == severity {
				shown.Reason, shown.Message = other.Reason, other.Message
				if ready.Status == metav1.ConditionFalse {
					shown.Severity = severity
				}
				return shown
			}
		}
	}
	return shown
}
