// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestJustBound(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, test := range []struct {
		name        string
		subresource string
		at          time.Time
		want        bool
	}{
		{"bound now", "status", now, true},
		{"bound within the time", "status", now.Add(-schedulingGrace / 2), true},
		{"bound before", "status", now.Add(-schedulingGrace), false},
		{"bound by a clock ahead of this one", "status", now.Add(time.Hour), false},
		{"labelled now", "", now, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
				{Subresource: test.subresource, Time: &metav1.Time{Time: test.at}},
			}}}
			NewWithT(t).Expect(justBound(claim, now)).To(Equal(test.want))
		})
	}
}
