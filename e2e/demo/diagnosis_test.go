// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFindings(t *testing.T) {
	g := NewWithT(t)
	object := func(name string, conditions ...any) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"kind": "Example", "metadata": map[string]any{"name": name},
			"status": map[string]any{"conditions": conditions},
		}}
	}
	condition := func(kind, status string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "Because", "message": "of\n this"}
	}
	deleting := object("deleting", condition("Ready", "True"))
	deleting.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	deleting.SetFinalizers([]string{"example.test/keep"})
	got := findings([]unstructured.Unstructured{
		object("fine", condition("Ready", "True"), condition("Deleting", "False"), condition("ScalingUp", "False")),
		object("broken", condition("Ready", "False"), condition("RollingOut", "True")),
		deleting,
	})
	g.Expect(got).To(Equal("  Example broken\n    Ready=False Because: of this\n    RollingOut=True Because: of this\n" +
		"  Example deleting\n    is being deleted; finalizers example.test/keep\n"))
}
