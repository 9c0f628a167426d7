// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/faultline-io/faultline/shared/text"
)

// MakeWritable makes an object's conditions conform to the schema of its kind. A patch sends all conditions, and the API server
// rejects it because of a single invalid one, such as one that another manager stored before the schema was enforced. A v1beta1
// condition that is True has no reason; it gets one. A condition that cannot be repaired is removed. Messages are normalized, so
// that repeated attempts that fail in the same way do not write the condition again.
func MakeWritable(obj Object) {
	stored := obj.GetConditions()
	if kept := writable(stored); !equality.Semantic.DeepEqual(stored, kept) {
		obj.SetConditions(kept)
	}
}

func writable(stored []metav1.Condition) []metav1.Condition {
	var kept []metav1.Condition
	known := sets.New[string]()
	for _, condition := range stored {
		if !fits(typePattern, condition.Type, longestType) || !isStatus(condition.Status) || known.Has(condition.Type) {
			continue
		}
		known.Insert(condition.Type)
		if !fits(reasonPattern, condition.Reason, longestReason) {
			condition.Reason = conditions.NoReasonReported
		}
		if condition.LastTransitionTime.IsZero() {
			condition.LastTransitionTime = metav1.Unix(time.Now().Unix(), 0) // seconds, as stored
		}
		condition.Message = text.Truncate(text.Steady(condition.Message), longestMessage)
		condition.ObservedGeneration = max(condition.ObservedGeneration, 0)
		kept = append(kept, condition)
	}
	return kept
}

// These limits are the validation of metav1.Condition that controller-gen writes into CRDs.
var (
	typePattern   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
	reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
)

const (
	longestType    = 316
	longestReason  = 1024
	longestMessage = 32768
)

func fits(pattern *regexp.Regexp, value string, longest int) bool {
	return len(value) <= longest && pattern.MatchString(value)
}

func isStatus(status metav1.ConditionStatus) bool {
	return status == metav1.ConditionTrue || status == metav1.ConditionFalse || status == metav1.ConditionUnknown
}
