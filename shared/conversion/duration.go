// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Seconds converts a duration, as v1beta1 of Cluster API has them, to whole seconds, as v1beta2 has them: 0 for none, else one at
// least, as less than a second is not the same as none said.
func Seconds(duration *metav1.Duration) int32 {
	if duration == nil || duration.Duration <= 0 {
		return 0
	}
	return int32(min(math.Ceil(duration.Seconds()), math.MaxInt32))
}

// Duration is the reverse of Seconds.
func Duration(seconds int32) *metav1.Duration {
	if seconds <= 0 {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
}
