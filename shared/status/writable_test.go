// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMakeWritable(t *testing.T) {
	when := metav1.NewTime(time.Unix(1, 0))
	good := metav1.Condition{Type: "Available", Status: "True", Reason: "Available", LastTransitionTime: when}
	with := func(change func(*metav1.Condition)) metav1.Condition {
		changed := good
		changed.Type = "Changed"
		change(&changed)
		return changed
	}
	for _, tc := range []struct {
		name   string
		stored metav1.Condition
		want   func(*metav1.Condition) // nil: it is removed
	}{
		{"no reason", with(func(c *metav1.Condition) { c.Reason = "" }), func(c *metav1.Condition) { c.Reason = "NoReasonReported" }},
		{"a reason of words", with(func(c *metav1.Condition) { c.Reason = "not yet" }), func(c *metav1.Condition) { c.Reason = "NoReasonReported" }},
		{"a long message", with(func(c *metav1.Condition) { c.Message = strings.Repeat("x", 40000) }),
			func(c *metav1.Condition) { c.Message = strings.Repeat("x", 32765) + "..." }},
		{"a generation below zero", with(func(c *metav1.Condition) { c.ObservedGeneration = -1 }), func(*metav1.Condition) {}},
		{"a status of its own", with(func(c *metav1.Condition) { c.Status = "Perhaps" }), nil},
		{"no type", with(func(c *metav1.Condition) { c.Type = "" }), nil},
		{"a type twice", with(func(c *metav1.Condition) { c.Type = "Available" }), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			obj := &object{conditions: []metav1.Condition{good, tc.stored}}
			MakeWritable(obj)
			want := []metav1.Condition{good}
			if tc.want != nil {
				want = append(want, with(tc.want))
			}
			g.Expect(obj.conditions).To(Equal(want))
		})
	}
	g := NewWithT(t)
	obj := &object{conditions: []metav1.Condition{with(func(c *metav1.Condition) { c.LastTransitionTime = metav1.Time{} })}}
	MakeWritable(obj)
	g.Expect(obj.conditions[0].LastTransitionTime.Time).To(BeTemporally("~", time.Now(), time.Minute))
}

func TestMakeWritableRemovesV1Beta1(t *testing.T) {
	g := NewWithT(t)
	obj := &object{conditions: []metav1.Condition{
		{Type: "CredentialsAvailable", Status: "True"}, {Type: "Available", Status: "True", Reason: "Available"}, {Type: "VCenterAvailable", Status: "True", Reason: "Available"},
	}}
	V1Beta1{Conditions: []V1Beta1Condition{
		{Type: "CredentialsAvailable", From: "Available"}, {Type: "VCenterAvailable", From: "VCenterAvailable"},
	}}.Show(obj)
	g.Expect(obj.conditions).To(ConsistOf(HaveField("Type", "Available"), HaveField("Type", "VCenterAvailable")))
}
