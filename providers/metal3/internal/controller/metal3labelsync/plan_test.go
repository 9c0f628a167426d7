// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3labelsync

import (
	"fmt"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

const zone = corev1.LabelTopologyZone

type planCase struct {
	wish         wish
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

func TestPlanOfTheHostsLabels(t *testing.T) {
	t.Parallel()
	example, topology := []string{"example.com"}, []string{"topology.kubernetes.io"}
	for name, tc := range map[string]planCase{
		"nothing wished": {node: labels.Set{"a": "b"}, wanted: labels.Set{"a": "b"}},
		"copied": {
			wish: wish{host: labels.Set{"example.com/rack": "a", "example.org/rack": "b", "plain": "c"}, prefixes: example},
			node: labels.Set{"x": "y"}, wanted: labels.Set{"x": "y", "example.com/rack": "a"}, note: labels.Set{"example.com/rack": "a"},
		},
		"the prefix is whole": {
			wish:   wish{host: labels.Set{"sub.example.com/rack": "a", "example.com.au/rack": "b"}, prefixes: example},
			wanted: labels.Set{},
		},
		"there already": {
			wish: wish{host: labels.Set{"example.com/rack": "a"}, prefixes: example},
			node: labels.Set{"example.com/rack": "a"}, wanted: labels.Set{"example.com/rack": "a"},
		},
		"changed on the host": {
			wish: wish{host: labels.Set{"example.com/rack": "b"}, prefixes: example},
			node: labels.Set{"example.com/rack": "a"}, noted: labels.Set{"example.com/rack": "a"},
			wanted: labels.Set{"example.com/rack": "b"}, note: labels.Set{"example.com/rack": "b"},
		},
		"changed on the Node": {
			wish: wish{host: labels.Set{"example.com/rack": "a"}, prefixes: example},
			node: labels.Set{"example.com/rack": "z"}, noted: labels.Set{"example.com/rack": "a"},
			wanted: labels.Set{"example.com/rack": "a"}, note: labels.Set{"example.com/rack": "a"},
		},
		"not on the host": {
			wish: wish{prefixes: example}, node: labels.Set{"example.com/rack": "a", "example.com/row": "b", "x": "y"},
			noted: labels.Set{"example.com/rack": "a"}, wanted: labels.Set{"x": "y"},
		},
		"prefix not wanted any more": {
			node: labels.Set{"example.com/rack": "a", "example.com/row": "b"}, noted: labels.Set{"example.com/rack": "a"},
			wanted: labels.Set{"example.com/row": "b"},
		},
		"others' labels with a shared prefix": {
			wish: wish{host: labels.Set{"topology.kubernetes.io/row": "r"}, prefixes: topology},
			node: labels.Set{zone: "z"}, wanted: labels.Set{zone: "z", "topology.kubernetes.io/row": "r"},
			note: labels.Set{"topology.kubernetes.io/row": "r"},
		},
		"our label with a shared prefix": {
			wish: wish{prefixes: topology}, node: labels.Set{"topology.kubernetes.io/row": "r"}, noted: labels.Set{"topology.kubernetes.io/row": "r"},
			wanted: labels.Set{},
		},
		"how Nodes are recognised": {
			wish: wish{host: labels.Set{infrav1.NodeUUIDLabel: "no", "metal3.io/rack": "a"}, prefixes: []string{"metal3.io"}},
			node: labels.Set{infrav1.NodeUUIDLabel: "yes"}, wanted: labels.Set{infrav1.NodeUUIDLabel: "yes", "metal3.io/rack": "a"},
			note: labels.Set{"metal3.io/rack": "a"},
		},
		"zone label of the host": {
			wish: wish{host: labels.Set{zone: "host"}, prefixes: topology, derived: labels.Set{zone: "rack-1"}},
			node: labels.Set{zone: "theirs"}, wanted: labels.Set{zone: "host"}, note: labels.Set{zone: "host"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t)
		})
	}
}

func TestPlanOfTheZone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]planCase{
		"zone": {
			wish: wish{derived: labels.Set{zone: "rack-1"}}, wanted: labels.Set{zone: "rack-1"}, note: labels.Set{zone: "rack-1"},
		},
		"zone of somebody else": {
			wish: wish{derived: labels.Set{zone: "rack-1"}}, node: labels.Set{zone: "theirs"}, wanted: labels.Set{zone: "theirs"},
		},
		"zone changes with the domain": {
			wish: wish{derived: labels.Set{zone: "rack-2"}}, node: labels.Set{zone: "rack-1"}, noted: labels.Set{zone: "rack-1"},
			wanted: labels.Set{zone: "rack-2"}, note: labels.Set{zone: "rack-2"},
		},
		"zone taken over by somebody else": {
			wish: wish{derived: labels.Set{zone: "rack-1"}}, node: labels.Set{zone: "theirs"}, noted: labels.Set{zone: "rack-1"},
			wanted: labels.Set{zone: "theirs"},
		},
		"zone without a domain": {
			node: labels.Set{zone: "rack-1"}, noted: labels.Set{zone: "rack-1"}, wanted: labels.Set{},
		},
		"zone of somebody else without a domain": {
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
	for _, key := range []string{"example.com/rack", "example.org/rack", zone, "topology.kubernetes.io/row", infrav1.NodeUUIDLabel, "plain"} {
		if rapid.Bool().Draw(t, name+" "+key) {
			set[key] = fmt.Sprintf("v%d", rapid.IntRange(0, 2).Draw(t, name+" value"))
		}
	}
	return set
}

func TestPlanProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := wish{host: drawLabels(t, "host")}
		w.prefixes = rapid.SliceOf(rapid.SampledFrom([]string{"example.com", "topology.kubernetes.io", "metal3.io"})).Draw(t, "prefixes")
		if rapid.Bool().Draw(t, "domain") {
			w.derived = labels.Set{zone: fmt.Sprintf("v%d", rapid.IntRange(0, 2).Draw(t, "zone"))}
		}
		node, noted := drawLabels(t, "node"), drawLabels(t, "noted")
		wanted, note := w.plan(node, noted)
		if again, noteAgain := w.plan(wanted, note); !maps.Equal(again, wanted) || !maps.Equal(noteAgain, note) {
			t.Fatalf("done again, %v and %v become %v and %v", wanted, note, again, noteAgain)
		}
		for key, value := range w.host {
			if w.synced(key) && wanted[key] != value {
				t.Fatalf("%s is %q, not %q as on the host", key, wanted[key], value)
			}
		}
		for key, value := range node {
			if !noted.Has(key) && !w.synced(key) && wanted[key] != value {
				t.Fatalf("%s is somebody else's, and becomes %q", key, wanted[key])
			}
		}
		for key, value := range note {
			if wanted[key] != value {
				t.Fatalf("%s=%s is noted, and %q is set", key, value, wanted[key])
			}
		}
		if read := readNote(note.String()); !maps.Equal(read, note) {
			t.Fatalf("%v is read back as %v", note, read)
		}
	})
}

func TestUnreadableNoteRemovesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(readNote("not, a list = of = labels")).To(BeEmpty())
	g.Expect(readNote("")).To(BeEmpty())
}
