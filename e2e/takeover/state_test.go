// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestEverythingThatIsNotTheSameIsSaid(t *testing.T) {
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
