// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestHostStateDifferences(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	with := func(change func(*HostState)) HostState {
		s := HostState{
			Hosts:    map[string]host{"a": {UID: "1", Powered: true, Spec: map[string]any{"online": true}}},
			Objects:  map[string]kept{"Metal3Machine a": {UID: "1", Finalizers: []string{"f"}}},
			Secrets:  map[string]kept{"a-metadata": {UID: "1", Content: "name: a"}},
			Machines: map[string]machine{"a": {Node: "a"}},
			Claims:   map[string]claim{"a-0": {UID: "1", Address: "10.0.0.1"}},
		}
		change(&s)
		return s
	}
	before := with(func(*HostState) {})
	g.Expect(before.Differences(with(func(*HostState) {}))).To(BeEmpty())
	for says, change := range map[string]func(*HostState){
		"host a was": func(s *HostState) {
			s.Hosts["a"] = host{UID: "1", Powered: true, Spec: map[string]any{"online": false}}
		},
		"host b is new":                  func(s *HostState) { s.Hosts["b"] = host{} },
		"object Metal3Machine a was":     func(s *HostState) { s.Objects["Metal3Machine a"] = kept{UID: "1"} },
		"object Metal3Machine a is gone": func(s *HostState) { delete(s.Objects, "Metal3Machine a") },
		"Secret a-metadata was":          func(s *HostState) { s.Secrets["a-metadata"] = kept{UID: "1", Content: "name: b"} },
		"Machine a was":                  func(s *HostState) { s.Machines["a"] = machine{Node: "b"} },
		"IPAddressClaim a-0 was":         func(s *HostState) { s.Claims["a-0"] = claim{UID: "1", Address: "10.0.0.2"} },
	} {
		g.Expect(before.Differences(with(change))).To(ConsistOf(HavePrefix(says)))
	}
}

func TestWithoutEmpty(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(withoutEmpty(map[string]any{
		"selector": map[string]any{"labels": map[string]any{}}, "text": "", "list": []any{}, "none": nil,
		"number": int64(0), "no": false, "links": []any{map[string]any{"id": "a", "mac": map[string]any{"text": ""}}},
	})).To(Equal(map[string]any{"number": int64(0), "no": false, "links": []any{map[string]any{"id": "a"}}}))
}

func TestStateDifferences(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	with := func(change func(*State)) State {
		s := State{
			VMs:      map[string]vm{"a": {Name: "a", UUID: "1", Power: "poweredOn"}},
			Specs:    map[string]any{"a": map[string]any{"numCPUs": int64(2)}},
			Machines: map[string]machine{"a": {Node: "a"}},
			Claims:   map[string]claim{"a-0-0": {UID: "1", Address: "10.0.0.1"}},
		}
		change(&s)
		return s
	}
	before := with(func(*State) {})
	g.Expect(before.Differences(with(func(*State) {}))).To(BeEmpty())
	for says, change := range map[string]func(*State){
		"virtual machine a was":     func(s *State) { s.VMs["a"] = vm{Name: "a", UUID: "1", Power: "poweredOff"} },
		"virtual machine b is new":  func(s *State) { s.VMs["b"] = vm{} },
		"virtual machine a is gone": func(s *State) { delete(s.VMs, "a") },
		"VSphereVM a was":           func(s *State) { s.Specs["a"] = map[string]any{"numCPUs": int64(4)} },
		"IPAddressClaim a-0-0 was":  func(s *State) { s.Claims["a-0-0"] = claim{UID: "1", Address: "10.0.0.2"} },
		"Machine a was":             func(s *State) { s.Machines["a"] = machine{Node: "b"} },
	} {
		g.Expect(before.Differences(with(change))).To(ConsistOf(HavePrefix(says)))
	}
}
