// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestChanged(t *testing.T) {
	valid := func() infrav1.VSphereVMSpec { return infrav1.VSphereVMSpec{VirtualMachineCloneSpec: validCloneSpec()} }
	for name, tc := range map[string]struct {
		change func(*infrav1.VSphereVMSpec)
		want   []string
	}{
		"nothing":              {func(*infrav1.VSphereVMSpec) {}, nil},
		"a field":              {func(s *infrav1.VSphereVMSpec) { s.Template = "other" }, []string{"spec.template: Forbidden"}},
		"a field that is gone": {func(s *infrav1.VSphereVMSpec) { s.Folder = "" }, []string{"spec.folder: Forbidden"}},
		"a field of a struct that is new": {func(s *infrav1.VSphereVMSpec) { s.Placement.FailureDomain = "a" },
			[]string{"spec.placement.failureDomain: Forbidden"}},
		"an entry of a map": {func(s *infrav1.VSphereVMSpec) { s.CustomVMXKeys["a"] = "b" }, []string{"spec.customVMXKeys.a: Forbidden"}},
		"an item of a list": {func(s *infrav1.VSphereVMSpec) { s.TagIDs[0] = "b" }, []string{"spec.tagIDs: Forbidden"}},
		"what may change":   {func(s *infrav1.VSphereVMSpec) { s.Network.Devices, s.Thumbprint = nil, "" }, nil},
		"with mutable fields": {func(s *infrav1.VSphereVMSpec) { s.Network = infrav1.NetworkSpec{} },
			[]string{"spec.network.routes: Forbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before, after := valid(), valid()
			tc.change(&after)
			errs := rules.Changed(&before, &after, field.NewPath("spec"), "do this instead", "network.devices", "thumbprint")
			g.Expect(rulestest.Summary(errs)).To(ConsistOf(tc.want))
			for _, err := range errs {
				g.Expect(err.Detail).To(ContainSubstring("do this instead"))
			}
		})
	}
}

func TestChangedDistinguishesEmptyAndNilSelector(t *testing.T) {
	g := NewWithT(t)
	none, all := infrav1.VSphereClusterSpec{}, infrav1.VSphereClusterSpec{FailureDomainSelector: &metav1.LabelSelector{}}
	g.Expect(rules.Changed(&none, &all, field.NewPath("spec"), "")).To(HaveLen(1))
	g.Expect(rules.Changed(&all, &none, field.NewPath("spec"), "")).To(HaveLen(1))
}
