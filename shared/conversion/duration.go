// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Seconds converts a duration, as in Cluster API's v1beta1, to whole seconds, as in v1beta2. It rounds up, so that less than a
// second does not become 0, which stands for an unset duration.
func Seconds(duration *metav1.Duration) int32 {
	if duration == nil || duration.Duration <= 0 {
		return 0
	}
	return int32(min(math.Ceil(duration.Seconds()), math.MaxInt32))
}

// Duration converts seconds to a duration; nil if they are not positive. It is the inverse of Seconds.
func Duration(seconds int32) *metav1.Duration {
	if seconds <= 0 {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
}
