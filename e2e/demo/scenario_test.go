// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/provider/metal3"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

func TestUnknownScenarioIsRejected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := scenarioOf("flood")
	g.Expect(err).To(MatchError(`unknown STORY "flood": must be one of add, evict, logical, outage, return, vcenter-lost, workers`))
	told, err := scenarioOf("")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told.check(Options{Flavor: topology})).To(Succeed())
	g.Expect(told.check(Options{Scenario: "add", Flavor: topology})).To(MatchError(ContainSubstring("a STORY or a FLAVOR")))
}

func TestLostVCenterNeedsSeveralInfrastructures(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	told, err := scenarioOf("vcenter-lost")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told.check(Options{Scenario: "vcenter-lost", Provider: vsphere.Provider{}})).To(Succeed())
	g.Expect(told.check(Options{Scenario: "vcenter-lost", Provider: metal3.Provider{}})).
		To(MatchError("STORY=vcenter-lost needs a PROVIDER whose failure domains can be on several infrastructures: must be one of vsphere"))
}

func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetKind(kind)
	o.SetName(name)
	return o
}

func TestAddedDomainIsWithheldAtFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	told, err := scenarioOf("add")
	g.Expect(err).NotTo(HaveOccurred())

	d := &demo{about: vsphere.Provider{}.Describe(), scenario: told, withheld: "zone-c"}
	kept, err := d.prepare([]*unstructured.Unstructured{
		object("VSphereFailureDomain", "zone-b", map[string]any{}), object("VSphereFailureDomain", "zone-c", map[string]any{}),
		object("VSphereDeploymentZone", "zone-c", map[string]any{}), object("VSphereCluster", "demo", map[string]any{}),
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveLen(2))
	g.Expect(d.later).To(HaveLen(2))
	g.Expect(d.domains()).To(Equal([]string{"zone-a", "zone-b"}))

	d = &demo{about: metal3.Provider{}.Describe(), scenario: told, withheld: "rack-c"}
	racks := []any{map[string]any{"name": "rack-b"}, map[string]any{"name": "rack-c"}}
	kept, err = d.prepare([]*unstructured.Unstructured{object("Metal3Cluster", "demo", map[string]any{"failureDomains": racks})})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept[0].Object["spec"]).To(HaveKeyWithValue("failureDomains", racks[:1]))
	g.Expect(d.listed).To(Equal(racks))
}

func TestSpreadWorkersUseOneMachineDeploymentWithoutDomain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	told, err := scenarioOf("workers")
	g.Expect(err).NotTo(HaveOccurred())
	d := &demo{about: vsphere.Provider{}.Describe(), scenario: told}
	spec := func() map[string]any {
		return map[string]any{"template": map[string]any{"spec": map[string]any{"failureDomain": "zone-a", "clusterName": "demo"}}}
	}
	kept, err := d.prepare([]*unstructured.Unstructured{object("MachineDeployment", "demo-md-a", spec()), object("MachineDeployment", "demo-md-b", spec())})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveLen(1))
	g.Expect(kept[0].Object["spec"]).To(Equal(map[string]any{
		"replicas": int64(6), "template": map[string]any{"spec": map[string]any{"clusterName": "demo"}},
	}))
}
