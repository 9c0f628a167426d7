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

// V1Beta1 says what of a kind's conditions is shown in the format of v1beta1 too, for those who read that version, or
// status.deprecated of the one after it. Its zero value is for kinds that have no such version.
type V1Beta1 struct {
	// Conditions beside Ready, which sums them up.
	Conditions []V1Beta1Condition
	// Gone are conditions of upstream's that nobody sets here. One that is there was left behind when its objects were taken over.
	Gone []string
}

// V1Beta1Condition is a condition of v1beta1 and what it is made from.
type V1Beta1Condition struct {
	Type clusterv1.ConditionType //nolint:staticcheck // it is what v1beta1 has
	From string
	// Severity is how bad it is when the condition does not hold. What is only waited for is never more than information.
	Severity clusterv1.ConditionSeverity //nolint:staticcheck // it is what v1beta1 has
	// Reasons are those that v1beta1 calls otherwise.
	Reasons map[string]string
	// Progress are reasons that say how far something is, beside those that begin with Waiting.
	Progress []string
}

// v1beta1Object is an object that shows conditions in the format of v1beta1. To set them clears failureReason and failureMessage: every
// failure here is tried again.
type v1beta1Object interface {
	Object
	SetV1Beta1Conditions(conditions clusterv1.Conditions) //nolint:staticcheck // it is what v1beta1 has
}

// longest is how long a message may be in v1beta1.
const longest = 10240

// Show sets the conditions of v1beta1 from those of the object, and nothing else: what is left of another manager's goes. So does a
// condition of v1beta1 among those of the object, where a release that served both versions without a conversion has stored it.
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

// from makes v1beta1's conditions, Ready first and the others in the order of their names.
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

// from has no reason when the condition holds, and a severity when it does not, as is usual in v1beta1.
func (c V1Beta1Condition) from(from *metav1.Condition) clusterv1.Condition { //nolint:staticcheck // it is what v1beta1 has
	shown := clusterv1.Condition{Type: c.Type, Status: corev1.ConditionStatus(from.Status), LastTransitionTime: from.LastTransitionTime} //nolint:staticcheck // it is what v1beta1 has
	if from.Status == metav1.ConditionTrue {
		return shown
	}
	shown.Reason, shown.Message = from.Reason, text.Cut(text.Steady(from.Message), longest)
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

// sum is Ready: with reason, severity and message of the worst of the others, which say more than a summary does.
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
