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

// MakeWritable has an object's conditions pass the schema of their kind. A patch sends all of them, and the API server refuses it for a
// single one that another manager has stored before it would have been refused: in the format of v1beta1 a condition that holds has no
// reason. It gets one; what is no condition at all goes. A message has the words that each attempt has which fails in the same way, so that no
// condition is written again because of the attempt alone.
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
			condition.LastTransitionTime = metav1.Unix(time.Now().Unix(), 0) // to the second, as it is stored
		}
		condition.Message = text.Cut(text.Steady(condition.Message), longestMessage)
		condition.ObservedGeneration = max(condition.ObservedGeneration, 0)
		kept = append(kept, condition)
	}
	return kept
}

// These are the limits of metav1.Condition, as controller-gen writes them into CRDs.
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
