// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestChanged(t *testing.T) {
	valid := func() infrav1.Metal3MachineSpec {
		spec := validMachine()
		spec.AutomatedCleaningMode = infrav1.CleaningModeMetadata
		spec.HostSelector.MatchExpressions = []infrav1.HostSelectorRequirement{{Key: "size", Operator: "Exists"}}
		return spec
	}
	type spec = infrav1.Metal3MachineSpec
	for name, tc := range map[string]struct {
		change func(*spec)
		want   []string
	}{
		"nothing":              {func(*spec) {}, nil},
		"a field":              {func(s *spec) { s.HostSelectionOrder = infrav1.HostSelectionRandom }, []string{"spec.hostSelectionOrder: Forbidden"}},
		"a removed field":      {func(s *spec) { s.Image.Checksum = "" }, []string{"spec.image.checksum: Forbidden"}},
		"a struct that is new": {func(s *spec) { s.MetaData = &corev1.SecretReference{Name: "a"} }, []string{"spec.metaData.name: Forbidden"}},
		"an entry of a map":    {func(s *spec) { s.HostSelector.MatchLabels["a"] = "b" }, []string{"spec.hostSelector.matchLabels.a: Forbidden"}},
		"an item of a list": {func(s *spec) { s.HostSelector.MatchExpressions[0].Key = "b" },
			[]string{"spec.hostSelector.matchExpressions: Forbidden"}},
		"what may change": {func(s *spec) { s.AutomatedCleaningMode = "" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before, after := valid(), valid()
			tc.change(&after)
			errs := rules.Changed(&before, &after, field.NewPath("spec"), "do this instead", "automatedCleaningMode")
			g.Expect(rulestest.Summary(errs)).To(ConsistOf(tc.want))
			for _, err := range errs {
				g.Expect(err.Detail).To(ContainSubstring("do this instead"))
			}
		})
	}
}
