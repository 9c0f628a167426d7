// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

const zone = corev1.LabelTopologyZone

type planCase struct {
	wish         desired
	node, noted  labels.Set
	wanted, note labels.Set
}

func (tc planCase) check(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	wanted, note := tc.wish.plan(tc.node, tc.noted)
	g.Expect(wanted).To(Equal(tc.wanted))
	if tc.note == nil {
		tc.note = labels.Set{}
	}
	g.Expect(note).To(Equal(tc.note))
}

func TestImposedLabels(t *testing.T) {
	t.Parallel()
	const rack, row = "example.com/rack", "example.com/row"
	owned := func(key string) bool { return key == rack || key == row }
	for name, tc := range map[string]planCase{
		"nothing wished": {node: labels.Set{"a": "b"}, wanted: labels.Set{"a": "b"}},
		"no labels":      {wanted: labels.Set{}},
		"imposed": {
			wish: desired{imposed: labels.Set{rack: "a"}}, node: labels.Set{"x": "y"},
			wanted: labels.Set{"x": "y", rack: "a"}, note: labels.Set{rack: "a"},
		},
		"there already": {wish: desired{imposed: labels.Set{rack: "a"}}, node: labels.Set{rack: "a"}, wanted: labels.Set{rack: "a"}},
		"changed": {
			wish: desired{imposed: labels.Set{rack: "b"}}, node: labels.Set{rack: "a"}, noted: labels.Set{rack: "a"},
			wanted: labels.Set{rack: "b"}, note: labels.Set{rack: "b"},
		},
		"changed on the Node": {
			wish: desired{imposed: labels.Set{rack: "a"}}, node: labels.Set{rack: "z"}, noted: labels.Set{rack: "a"},
			wanted: labels.Set{rack: "a"}, note: labels.Set{rack: "a"},
		},
		"gone, with what is owned": {
			wish: desired{owned: owned}, node: labels.Set{rack: "a", row: "b", "x": "y"}, noted: labels.Set{rack: "a"}, wanted: labels.Set{"x": "y"},
		},
		"gone, where nothing is owned": {
			node: labels.Set{rack: "a", row: "b"}, noted: labels.Set{rack: "a"}, wanted: labels.Set{row: "b"},
		},
		"deleted, and set by another client since": {node: labels.Set{rack: "z"}, noted: labels.Set{rack: "a"}, wanted: labels.Set{rack: "z"}},
		"imposed and suggested": {
			wish: desired{imposed: labels.Set{zone: "host"}, suggested: labels.Set{zone: "rack-1"}},
			node: labels.Set{zone: "theirs"}, wanted: labels.Set{zone: "host"}, note: labels.Set{zone: "host"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t)
		})
	}
}

func TestSuggestedLabels(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]planCase{
		"zone": {
			wish: desired{suggested: labels.Set{zone: "rack-1"}}, wanted: labels.Set{zone: "rack-1"}, note: labels.Set{zone: "rack-1"},
		},
		"zone of another client": {
			wish: desired{suggested: labels.Set{zone: "rack-1"}}, node: labels.Set{zone: "theirs"}, wanted: labels.Set{zone: "theirs"},
		},
		"zone changes with the domain": {
			wish: desired{suggested: labels.Set{zone: "rack-2"}}, node: labels.Set{zone: "rack-1"}, noted: labels.Set{zone: "rack-1"},
			wanted: labels.Set{zone: "rack-2"}, note: labels.Set{zone: "rack-2"},
		},
		"zone taken over by another client": {
			wish: desired{suggested: labels.Set{zone: "rack-1"}}, node: labels.Set{zone: "theirs"}, noted: labels.Set{zone: "rack-1"},
			wanted: labels.Set{zone: "theirs"},
		},
		"zone without a domain": {
			node: labels.Set{zone: "rack-1"}, noted: labels.Set{zone: "rack-1"}, wanted: labels.Set{},
		},
		"zone of another client without a domain": {
			node: labels.Set{zone: "theirs"}, noted: labels.Set{zone: "rack-1"}, wanted: labels.Set{zone: "theirs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t)
		})
	}
}

func drawLabels(t *rapid.T, name string) labels.Set {
	set := labels.Set{}
	for _, key := range []string{"example.com/rack", "example.org/rack", zone, "plain"} {
		if rapid.Bool().Draw(t, name+" "+key) {
			set[key] = fmt.Sprintf("v%d", rapid.IntRange(0, 2).Draw(t, name+" value"))
		}
	}
	return set
}

func TestPlanProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := desired{imposed: drawLabels(t, "imposed"), suggested: drawLabels(t, "suggested")}
		owned := rapid.SampledFrom([]string{"", "example.com/rack", zone}).Draw(t, "owned")
		w.owned = func(key string) bool { return key == owned }
		node, noted := drawLabels(t, "node"), drawLabels(t, "noted")
		wanted, note := w.plan(node, noted)
		if again, noteAgain := w.plan(wanted, note); !maps.Equal(again, wanted) || !maps.Equal(noteAgain, note) {
			t.Fatalf("done again, %v and %v become %v and %v", wanted, note, again, noteAgain)
		}
		for key, value := range w.imposed {
			if wanted[key] != value {
				t.Fatalf("%s is %q, not %q as imposed", key, wanted[key], value)
			}
		}
		for key, value := range node {
			if !noted.Has(key) && !w.imposed.Has(key) && key != owned && wanted[key] != value {
				t.Fatalf("%s belongs to another client, and becomes %q", key, wanted[key])
			}
		}
		for key, value := range note {
			if wanted[key] != value {
				t.Fatalf("%s=%s is noted, and %q is set", key, value, wanted[key])
			}
		}
		stored := &corev1.Node{}
		recorded{domain: "rack-1", labels: note}.write(stored)
		if again := read(stored); !again.equal(recorded{domain: "rack-1", labels: note}) {
			t.Fatalf("%v is read back as %v", note, again)
		}
	})
}

func TestInvalidNote(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	node := &corev1.Node{}
	g.Expect(read(node)).To(Equal(recorded{labels: labels.Set{}}))
	node.Annotations = map[string]string{faultlinev1.LabelsFromMachineAnnotation: "not, a list = of = labels"}
	g.Expect(read(node).labels).To(BeEmpty())
}

func TestARecordUnderTheFormerNameIsRenamedAlsoWhenNoLabelChanges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	former := faultlinev1.FormerName(faultlinev1.LabelsFromMachineAnnotation)
	node := &corev1.Node{}
	node.Labels = map[string]string{zone: "rack-1"}
	node.Annotations = map[string]string{faultlinev1.FailureDomainAnnotation: "rack-1", former: zone + "=rack-1"}
	StripNode(node)
	s := &scope{infraCluster: &providertest.Cluster{}, machine: &clusterv1.Machine{}}
	g.Expect(s.apply(node, "rack-1", Labels{})).To(BeTrue())
	g.Expect(node.Annotations).To(Equal(map[string]string{
		faultlinev1.FailureDomainAnnotation: "rack-1", faultlinev1.LabelsFromMachineAnnotation: zone + "=rack-1",
	}))
	g.Expect(s.apply(node, "rack-1", Labels{})).To(BeFalse())
}

func TestALabelUnderItsFormerNameIsRemovedIfTheRecordListsItsName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	former := faultlinev1.FormerName(faultlinev1.DistributionKeyLabel)
	node := &corev1.Node{}
	node.Labels = map[string]string{former: "blue-0", "example.com/other": "x"}
	node.Annotations = map[string]string{
		faultlinev1.FailureDomainAnnotation: "rack-1", faultlinev1.LabelsFromMachineAnnotation: faultlinev1.DistributionKeyLabel + "=blue-0",
	}
	s := &scope{infraCluster: &providertest.Cluster{}, machine: &clusterv1.Machine{}}
	s.machine.Labels = map[string]string{faultlinev1.DistributionKeyLabel: "blue-0"}
	g.Expect(s.apply(node, "rack-1", Labels{})).To(BeTrue())
	g.Expect(node.Labels).To(Equal(map[string]string{faultlinev1.DistributionKeyLabel: "blue-0", "example.com/other": "x", zone: "rack-1"}))
	g.Expect(s.apply(node, "rack-1", Labels{})).To(BeFalse())
}
