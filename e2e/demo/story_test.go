// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/provider/metal3"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

func TestAStoryThatDoesNotExistIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := storyOf("flood")
	g.Expect(err).To(MatchError(`there is no story "flood": it is one of add, evict, logical, outage, return, workers`))
	told, err := storyOf("")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told.check("", topology)).To(Succeed())
	g.Expect(told.check("add", topology)).To(MatchError(ContainSubstring("a STORY or a FLAVOR")))
}

func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetKind(kind)
	o.SetName(name)
	return o
}

func TestADomainThatIsAddedLaterIsWithheldAtFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	told, err := storyOf("add")
	g.Expect(err).NotTo(HaveOccurred())

	d := &demo{about: vsphere.Provider{}.Describe(), story: told, withheld: "zone-c"}
	kept, err := d.prepare([]*unstructured.Unstructured{
		object("VSphereFailureDomain", "zone-b", map[string]any{}), object("VSphereFailureDomain", "zone-c", map[string]any{}),
		object("VSphereDeploymentZone", "zone-c", map[string]any{}), object("VSphereCluster", "demo", map[string]any{}),
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveLen(2))
	g.Expect(d.later).To(HaveLen(2))
	g.Expect(d.domains()).To(Equal([]string{"zone-a", "zone-b"}))

	d = &demo{about: metal3.Provider{}.Describe(), story: told, withheld: "rack-c"}
	racks := []any{map[string]any{"name": "rack-b"}, map[string]any{"name": "rack-c"}}
	kept, err = d.prepare([]*unstructured.Unstructured{object("Metal3Cluster", "demo", map[string]any{"failureDomains": racks})})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept[0].Object["spec"]).To(HaveKeyWithValue("failureDomains", racks[:1]))
	g.Expect(d.listed).To(Equal(racks))
}

func TestWorkersThatAreSpreadAreOfOneMachineDeploymentThatNamesNoDomain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	told, err := storyOf("workers")
	g.Expect(err).NotTo(HaveOccurred())
	d := &demo{about: vsphere.Provider{}.Describe(), story: told}
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

func TestSurging(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := settled()
	for i := range now.Machines {
		now.Machines[i].Ready = true
	}
	g.Expect(surging(now, "vCenter")).To(Succeed())
	now.Machines[0].Deleting = true
	g.Expect(surging(now, "vCenter")).To(Succeed())
	now.Machines[1].Ready = false
	g.Expect(surging(now, "vCenter")).To(MatchError(ContainSubstring("less than the quorum of 2")))
	now = settled()
	now.Machines = append(now.Machines, Machine{Role: roleControlPlane}, Machine{Role: roleControlPlane})
	g.Expect(surging(now, "vCenter")).To(MatchError(ContainSubstring("more than one is being moved")))
}

func TestMoving(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := Snapshot{Machines: []Machine{{Role: "md", Ready: true}, {Role: "md", Ready: true}}}
	missing, err := moving(now, "md", 2)
	g.Expect(missing, err).To(BeEmpty())
	now.Machines[0].Deleting = true
	missing, err = moving(now, "md", 2)
	g.Expect(missing, err).To(Equal("1 of 2 machines of md are ready"))
	now.Machines[1].Deleting = true
	_, err = moving(now, "md", 2)
	g.Expect(err).To(MatchError(ContainSubstring("deleted at once")))
}

func TestLevelKeys(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(levelKeys(map[string]string{"a": "md-0", "b": "md-1", "c": "md-0"}, "md", 2)).To(BeEmpty())
	g.Expect(levelKeys(map[string]string{"a": "md-0", "b": "md-2"}, "md", 2)).To(ContainSubstring(`"md-2", which is none of the 2 of md`))
	g.Expect(levelKeys(map[string]string{"a": "md-0", "b": "md-0"}, "md", 2)).To(ContainSubstring("not 1 to 1"))
}

func TestAnotherNumberOfLogicalFailureDomainsReplacesTheFewestMachines(t *testing.T) {
	t.Parallel()
	three := map[string]string{"a": "md-0", "b": "md-0", "c": "md-1", "d": "md-1", "e": "md-2", "f": "md-2"}
	for name, test := range map[string]struct {
		before map[string]string
		gone   string
		number int
		wrong  string
	}{
		"3 to 2":               {three, "ef", 2, ""},
		"3 to 2, one too many": {three, "def", 2, "3 machines of md were replaced, and 2 would have done"},
		"3 to 4":               {three, "a", 4, ""},
		"3 to 4, one too many": {three, "ac", 4, "2 machines of md were replaced, and 1 would have done"},
		"2 to 4":               {map[string]string{"a": "md-0", "b": "md-0", "c": "md-0", "d": "md-1", "e": "md-1", "f": "md-1"}, "ad", 4, ""},
		"none to 3":            {map[string]string{"a": ""}, "a", 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := map[string]string{}
			for machine, key := range test.before {
				if strings.Contains(test.gone, machine) {
					machine = "instead of " + machine
				}
				now[machine] = key
			}
			NewWithT(t).Expect(tooManyReplaced(test.before, now, "md", test.number)).To(Equal(test.wrong))
		})
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	gone := Machine{Name: "w1", Role: "md", Domain: "zone-b"}
	replacement, missing, err := waiting(Snapshot{Machines: []Machine{gone}}, gone)
	g.Expect(replacement, err).To(BeEmpty())
	g.Expect(missing).To(Equal("Machine w1 is still there"))
	_, missing, err = waiting(Snapshot{Machines: []Machine{{Name: "cp", Role: roleControlPlane, Domain: "zone-a"}}}, gone)
	g.Expect(missing, err).To(Equal("nothing has come in the place of Machine w1"))
	replacement, missing, err = waiting(Snapshot{Machines: []Machine{{Name: "w2", Role: "md", Asked: "zone-b"}}}, gone)
	g.Expect(missing, err).To(BeEmpty())
	g.Expect(replacement).To(Equal("w2"))
	_, _, err = waiting(Snapshot{Machines: []Machine{{Name: "w2", Role: "md", Asked: "zone-b", Domain: "zone-a"}}}, gone)
	g.Expect(err).To(MatchError("machine w2 was put into zone-a while zone-b is broken"))
	says := metav1.Condition{Type: "InfrastructureReady", Status: metav1.ConditionFalse, Reason: "NotReady", Message: "it is not provisioned"}
	g.Expect(waitsFor("zone-b", []metav1.Condition{says})).To(BeEmpty())
	says.Message = "zone-b is Cordoned"
	g.Expect(waitsFor("zone-b", []metav1.Condition{says})).To(Equal("InfrastructureReady=False NotReady: zone-b is Cordoned"))
}
