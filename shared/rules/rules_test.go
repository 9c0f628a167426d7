// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/faultline-io/faultline/shared/rules"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestAdded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := field.NewPath("spec", "server")
	old := field.ErrorList{field.Invalid(path, "a b", "no spaces")}
	g.Expect(rules.Added(old, old)).To(BeEmpty(), "an error that was there before")
	g.Expect(rules.Added(nil, old)).To(Equal(old), "an error that is new")
	g.Expect(rules.Added(old, field.ErrorList{field.Invalid(path, "c d", "no spaces")})).To(HaveLen(1), "the same error of another value")
	g.Expect(rules.Added(old, nil)).To(BeEmpty(), "an error that is repaired")
}

func TestAddedWarnings(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(rules.AddedWarnings(admission.Warnings{"a"}, admission.Warnings{"a", "b"})).To(ConsistOf("b"))
}

// An error names each field of a struct separately, and a list as a whole.
func TestChanged(t *testing.T) {
	t.Parallel()
	before := clusterv1.MachineSpec{ClusterName: "c", Version: "v1", ReadinessGates: []clusterv1.MachineReadinessGate{{ConditionType: "a"}}}
	for name, tc := range map[string]struct {
		change func(*clusterv1.MachineSpec)
		want   []string
	}{
		"nothing":                         {func(*clusterv1.MachineSpec) {}, nil},
		"a field":                         {func(s *clusterv1.MachineSpec) { s.ClusterName = "d" }, []string{"spec.clusterName: Forbidden"}},
		"a field that is gone":            {func(s *clusterv1.MachineSpec) { s.ClusterName = "" }, []string{"spec.clusterName: Forbidden"}},
		"a field of a struct that is new": {func(s *clusterv1.MachineSpec) { s.InfrastructureRef.Name = "a" }, []string{"spec.infrastructureRef.name: Forbidden"}},
		"an item of a list":               {func(s *clusterv1.MachineSpec) { s.ReadinessGates[0].ConditionType = "b" }, []string{"spec.readinessGates: Forbidden"}},
		"what may change":                 {func(s *clusterv1.MachineSpec) { s.Version = "v2" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := *before.DeepCopy()
			tc.change(&after)
			errs := rules.Changed(&before, &after, field.NewPath("spec"), "do this instead", "version")
			NewWithT(t).Expect(rulestest.Summary(errs)).To(ConsistOf(tc.want))
		})
	}
}
