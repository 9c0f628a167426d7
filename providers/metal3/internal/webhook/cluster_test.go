// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func validCluster() infrav1.Metal3ClusterSpec {
	return infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
		FailureDomains:       []clusterv1.FailureDomain{{Name: "rack-1", ControlPlane: ptr.To(true)}, {Name: "Rack_2.b"}},
		Distribution: faultlinev1.Distribution{FailureDomains: []faultlinev1.FailureDomainIntent{
			{Name: "rack-1", State: faultlinev1.DomainCordoned}}},
	}
}

func TestValidateCluster(t *testing.T) {
	type spec = infrav1.Metal3ClusterSpec
	testRules(t, validCluster, validateCluster, []ruleCase[spec]{
		{"no failure domains", func(s *spec) { s.FailureDomains, s.Distribution = nil, faultlinev1.Distribution{} }, nil},
		{"name of 63", func(s *spec) { s.FailureDomains[1].Name = strings.Repeat("a", 63) }, nil},
		{"name of 64", func(s *spec) { s.FailureDomains[1].Name = strings.Repeat("a", 64) }, []string{"spec.failureDomains[1].name: Invalid value"}},
		{"name with a slash", func(s *spec) { s.FailureDomains[0].Name = "row/rack" }, []string{"spec.failureDomains[0].name: Invalid value"}},
		{"name with a dash last", func(s *spec) { s.FailureDomains[0].Name = "rack-" }, []string{"spec.failureDomains[0].name: Invalid value"}},
		{"intent for a name that cannot be", func(s *spec) { s.Distribution.FailureDomains[0].Name = "rack 1" },
			[]string{"spec.distribution.failureDomains[0].name: Invalid value"}},
	})
}

func TestValidateClusterObject(t *testing.T) {
	g := NewWithT(t)
	cluster := &infrav1.Metal3Cluster{Spec: validCluster()}
	g.Expect(validateClusterObject(cluster)).To(BeEmpty())
	cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{}
	g.Expect(rulestest.Summary(validateClusterObject(cluster))).To(ConsistOf("spec.controlPlaneEndpoint.host: Required value"))
	cluster.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "somebody"}
	g.Expect(validateClusterObject(cluster)).To(BeEmpty(), "another controller sets it")
}

func TestWarnCluster(t *testing.T) {
	g := NewWithT(t)
	spec := validCluster()
	g.Expect(warnCluster(spec, field.NewPath("spec"))).To(BeEmpty())
	spec.Distribution.FailureDomains[0].Name = "rack-3"
	g.Expect(warnCluster(spec, field.NewPath("spec"))).To(ConsistOf(
		And(HavePrefix("spec.distribution.failureDomains[0].name: "), ContainSubstring("rack-3"))))
}

func TestDefaultCluster(t *testing.T) {
	g := NewWithT(t)
	cluster := &infrav1.Metal3Cluster{Spec: infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1"}}}
	g.Expect(defaultCluster(t.Context(), cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint.Port).To(BeEquivalentTo(6443))
	g.Expect(cluster.Spec.CloudProviderEnabled).To(HaveValue(BeFalse()))

	cluster = &infrav1.Metal3Cluster{Spec: infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 443}, CloudProviderEnabled: ptr.To(true)}}
	g.Expect(defaultCluster(t.Context(), cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint.Port).To(BeEquivalentTo(443))
	g.Expect(cluster.Spec.CloudProviderEnabled).To(HaveValue(BeTrue()))

	cluster = &infrav1.Metal3Cluster{}
	g.Expect(defaultCluster(t.Context(), cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint).To(BeZero(), "a port of nothing")
}

func TestRemovedDomains(t *testing.T) {
	g := NewWithT(t)
	domains := func(names ...string) (list []clusterv1.FailureDomain) {
		for _, name := range names {
			list = append(list, clusterv1.FailureDomain{Name: name})
		}
		return list
	}
	g.Expect(removedDomains(domains("b", "a", "c"), domains("c", "d"))).To(Equal([]string{"a", "b"}))
	g.Expect(removedDomains(domains("a"), domains("a", "b"))).To(BeEmpty())
}
