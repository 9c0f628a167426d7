// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	fd "github.com/faultline-io/faultline/shared/failuredomain"
)

// Domains shared by several test cases.
var (
	abc     = active("a", "b", "c")
	cordonC = []fd.Domain{{Name: "a"}, {Name: "b"}, {Name: "c", State: fd.Cordoned}}
	evictC  = []fd.Domain{{Name: "a"}, {Name: "b"}, {Name: "c", State: fd.Evicting}}
)

// balanceTests are cases in which only capacity or scaling limits the plan.
var balanceTests = map[string]struct {
	domains  []fd.Domain
	machines []fd.Machine
	replicas int // the number of machines if 0
	targets  map[string]int
	moves    []fd.Move
	blocked  []string
}{
	"even already": {
		domains: abc, machines: machinesIn("a", "b", "c", "a"),
		targets: map[string]int{"a": 2, "b": 1, "c": 1},
	},
	"the fullest keep the extra one, whatever their names": {
		domains: abc, machines: machinesIn("c", "c", "b", "a"),
		targets: map[string]int{"a": 1, "b": 1, "c": 2},
	},
	"an empty domain gets one of aabbc": {
		domains: active("a", "b", "c", "d"), machines: machinesIn("a", "a", "b", "b", "c"),
		targets: map[string]int{"a": 2, "b": 1, "c": 1, "d": 1},
		moves:   []fd.Move{{Machine: "m2", From: "b", To: "d"}},
	},
	"order of moves: nowhere, unknown, evicting, fullest": {
		domains:  append(active("a", "b", "c"), fd.Domain{Name: "e", State: fd.Evicting}),
		machines: machinesIn("a", "a", "a", "a", "a", "e", "gone", "", "b"),
		targets:  map[string]int{"a": 3, "b": 3, "c": 3, "e": 0},
		moves: []fd.Move{
			{Machine: "m7", From: "", To: "c"},
			{Machine: "m6", From: "gone", To: "b"},
			{Machine: "m5", From: "e", To: "c"},
			{Machine: "m0", From: "a", To: "b"},
			{Machine: "m1", From: "a", To: "c"},
		},
	},
	"the fullest is the fullest after the moves before": {
		domains: active("a", "b", "c"), machines: machinesIn("a", "a", "a", "a", "a", "b", "b", "b", "b", "b", "b"),
		targets: map[string]int{"a": 4, "b": 4, "c": 3},
		moves: []fd.Move{
			{Machine: "m5", From: "b", To: "c"},
			{Machine: "m0", From: "a", To: "c"},
			{Machine: "m6", From: "b", To: "c"},
		},
	},
	"from the fullest, not from the one furthest above its target": {
		domains: active("a", "b", "c", "d"), machines: machinesIn("a", "a", "a", "a", "b", "b", "b", "b", "b"),
		targets: map[string]int{"a": 2, "b": 3, "c": 2, "d": 2},
		moves: []fd.Move{
			{Machine: "m4", From: "b", To: "c"},
			{Machine: "m0", From: "a", To: "d"},
			{Machine: "m5", From: "b", To: "c"},
			{Machine: "m1", From: "a", To: "d"},
		},
	},
	"machines in a cordoned domain stay and are taken off first": {
		domains: cordonC, machines: machinesIn("c", "c", "c", "a", "a", "a"),
		targets: map[string]int{"a": 2, "b": 1, "c": 3},
		moves:   []fd.Move{{Machine: "m3", From: "a", To: "b"}},
	},
	"an evicting domain is emptied": {
		domains: evictC, machines: machinesIn("a", "b", "c"),
		targets: map[string]int{"a": 2, "b": 1, "c": 0},
		moves:   []fd.Move{{Machine: "m2", From: "c", To: "a"}},
	},
	"evicting domains are emptied one after the other": {
		domains:  []fd.Domain{{Name: "a"}, {Name: "e", State: fd.Evicting}, {Name: "f", State: fd.Evicting}},
		machines: machinesIn("f", "e", "f", "e"),
		targets:  map[string]int{"a": 4, "e": 0, "f": 0},
		moves: []fd.Move{
			{Machine: "m1", From: "e", To: "a"}, {Machine: "m3", From: "e", To: "a"},
			{Machine: "m0", From: "f", To: "a"}, {Machine: "m2", From: "f", To: "a"},
		},
	},
	"one replica is not moved for balance": {
		domains: abc, machines: machinesIn("c"),
		targets: map[string]int{"a": 0, "b": 0, "c": 1},
	},
	"one replica is moved out of an evicting domain": {
		domains: evictC, machines: machinesIn("c"),
		targets: map[string]int{"a": 1, "b": 0, "c": 0},
		moves:   []fd.Move{{Machine: "m0", From: "c", To: "a"}},
	},
	"one replica stays in a cordoned domain": {
		domains: cordonC, machines: machinesIn("c"),
		targets: map[string]int{"a": 0, "b": 0, "c": 1},
	},
	"what does not fit goes to the least loaded with room": {
		domains:  []fd.Domain{{Name: "a"}, {Name: "b"}, {Name: "c", Capacity: room(1)}},
		machines: machinesIn("a", "a", "a", "a", "a", "a", "a", "b"),
		targets:  map[string]int{"a": 4, "b": 3, "c": 1},
		moves: []fd.Move{
			{Machine: "m0", From: "a", To: "b"}, {Machine: "m1", From: "a", To: "b"}, {Machine: "m2", From: "a", To: "c"},
		},
		blocked: []string{fd.ReasonNoCapacity}, // if c had capacity there would be a fourth
	},
	"a full domain leaves the spread uneven, and the plan reports it": {
		domains:  []fd.Domain{{Name: "a"}, {Name: "b"}, {Name: "c", Capacity: room(0)}},
		machines: machinesIn("a", "a", "b"),
		targets:  map[string]int{"a": 2, "b": 1, "c": 0},
		blocked:  []string{fd.ReasonNoCapacity},
	},
	"only the moves that fit": {
		domains:  []fd.Domain{{Name: "a", Capacity: room(1)}, {Name: "b", Capacity: room(0)}, {Name: "e", State: fd.Evicting}},
		machines: machinesIn("e", "e", "", "b"),
		targets:  map[string]int{"a": 1, "b": 1, "e": 0},
		moves:    []fd.Move{{Machine: "m2", From: "", To: "a"}},
		blocked:  []string{fd.ReasonNoCapacity},
	},
	"no domain is active": {
		domains:  []fd.Domain{{Name: "a", State: fd.Evicting}, {Name: "b", State: fd.Cordoned}},
		machines: machinesIn("a", "b"),
		targets:  map[string]int{"a": 0, "b": 1},
		blocked:  []string{fd.ReasonNoCapacity},
	},
	"every domain cordoned: everything stays": {
		domains:  []fd.Domain{{Name: "a", State: fd.Cordoned}, {Name: "b", State: fd.Cordoned}},
		machines: machinesIn("a", "a"),
		targets:  map[string]int{"a": 2, "b": 0},
	},
	"a negative capacity counts as zero": {
		domains:  []fd.Domain{{Name: "a", Capacity: room(-3)}, {Name: "b"}},
		machines: machinesIn("b", "b"),
		targets:  map[string]int{"a": 0, "b": 2},
		blocked:  []string{fd.ReasonNoCapacity},
	},
	"scaling down: cordoned machines are not the plan's to remove": {
		domains: cordonC, machines: machinesIn("c", "c", "c", "c", "c", "a"), replicas: 1,
		targets: map[string]int{"a": 0, "b": 0, "c": 5},
		blocked: []string{fd.ReasonScaling},
	},
	"scaling up: targets are those of the replicas": {
		domains: abc, machines: machinesIn("c"), replicas: 5,
		targets: map[string]int{"a": 2, "b": 1, "c": 2},
		blocked: []string{fd.ReasonScaling},
	},
	"scaling to zero": {
		domains: abc, machines: nil, replicas: 0,
		targets: map[string]int{"a": 0, "b": 0, "c": 0},
	},
	"scaling up beyond all room": {
		domains: []fd.Domain{{Name: "a", Capacity: room(1)}}, machines: machinesIn("a"), replicas: 4,
		targets: map[string]int{"a": 2},
		blocked: []string{fd.ReasonScaling, fd.ReasonNoCapacity},
	},
	"unlimited room does not overflow": {
		domains:  []fd.Domain{{Name: "a", Capacity: room(math.MaxInt)}, {Name: "b", Capacity: room(0)}},
		machines: machinesIn("a", "a", "b"), replicas: math.MaxInt,
		targets: map[string]int{"a": math.MaxInt - 1, "b": 1},
		blocked: []string{fd.ReasonScaling},
	},
	"entries of one name that agree are one domain": {
		domains:  []fd.Domain{{Name: "a"}, {Name: "a", State: fd.Active}, {Name: "b", Capacity: room(2)}, {Name: "b", Capacity: room(2)}},
		machines: machinesIn("a", "a"),
		targets:  map[string]int{"a": 1, "b": 1},
		moves:    []fd.Move{{Machine: "m0", From: "a", To: "b"}},
	},
	"no domains": {machines: machinesIn("a", ""), replicas: 5},
}

func TestBalance(t *testing.T) {
	t.Parallel()
	for name, test := range balanceTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replicas := test.replicas
			if replicas == 0 {
				replicas = len(test.machines)
			}
			plan, err := fd.Balance(test.domains, test.machines, replicas)
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(plan.Targets, test.targets) {
				t.Errorf("targets: got %v, want %v", plan.Targets, test.targets)
			}
			if !slices.Equal(plan.Moves, test.moves) {
				t.Errorf("moves: got %+v, want %+v", plan.Moves, test.moves)
			}
			if !slices.Equal(reasons(plan), test.blocked) {
				t.Errorf("blocked: got %+v, want %v", plan.Blocked, test.blocked)
			}
		})
	}
}

// uneven returns a spread that requires a move, with a change applied.
func uneven(change func([]fd.Machine)) []fd.Machine {
	machines := machinesIn("a", "a", "a", "b")
	change(machines)
	return machines
}

// blockedTests are cases in which something blocks all moves.
var blockedTests = map[string]struct {
	machines []fd.Machine
	replicas int
	targets  map[string]int
	blocked  []fd.Blocked
}{
	"deleting in a surge": {
		machines: uneven(func(m []fd.Machine) { m[1].Deleting = true }), replicas: 3,
		targets: map[string]int{"a": 1, "b": 1, "c": 1},
		blocked: []fd.Blocked{{Reason: fd.ReasonMachineDeleting, Message: "being deleted: m1"}},
	},
	"deleting and not yet replaced": {
		machines: uneven(func(m []fd.Machine) { m[1].Deleting = true }), replicas: 4,
		targets: map[string]int{"a": 2, "b": 1, "c": 1},
		blocked: []fd.Blocked{
			{Reason: fd.ReasonMachineDeleting, Message: "being deleted: m1"},
			{Reason: fd.ReasonScaling, Message: "3 machines, 4 replicas"},
		},
	},
	"unhealthy": {
		machines: uneven(func(m []fd.Machine) { m[3].Unhealthy = true }), replicas: 4,
		targets: map[string]int{"a": 2, "b": 1, "c": 1},
		blocked: []fd.Blocked{{Reason: fd.ReasonMachineUnhealthy, Message: "unhealthy: m3"}},
	},
	"surging": {
		machines: uneven(func([]fd.Machine) {}), replicas: 3,
		targets: map[string]int{"a": 1, "b": 1, "c": 1},
		blocked: []fd.Blocked{{Reason: fd.ReasonScaling, Message: "4 machines, 3 replicas"}},
	},
	"all at once": {
		machines: uneven(func(m []fd.Machine) { m[0].Deleting, m[0].Unhealthy, m[2].Unhealthy = true, true, true }), replicas: 5,
		targets: map[string]int{"a": 2, "b": 2, "c": 1},
		blocked: []fd.Blocked{
			{Reason: fd.ReasonMachineDeleting, Message: "being deleted: m0"},
			{Reason: fd.ReasonMachineUnhealthy, Message: "unhealthy: m0, m2"},
			{Reason: fd.ReasonScaling, Message: "3 machines, 5 replicas"},
		},
	},
}

// A machine that is deleting or unhealthy, or one machine too many or too few, blocks all moves. The targets and all reasons are
// still returned.
func TestBalanceBlocked(t *testing.T) {
	t.Parallel()
	for name, test := range blockedTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := fd.Balance(active("a", "b", "c"), test.machines, test.replicas)
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Moves) != 0 {
				t.Errorf("moves %+v, want none", plan.Moves)
			}
			if !maps.Equal(plan.Targets, test.targets) {
				t.Errorf("targets: got %v, want %v", plan.Targets, test.targets)
			}
			if !slices.Equal(plan.Blocked, test.blocked) {
				t.Errorf("blocked: got %+v, want %+v", plan.Blocked, test.blocked)
			}
		})
	}
}

// A blocked plan still reports missing capacity.
func TestBalanceBlockedAndFull(t *testing.T) {
	t.Parallel()
	machines := machinesIn("a", "a", "a")
	machines[0].Unhealthy = true
	plan, err := fd.Balance([]fd.Domain{{Name: "a"}, {Name: "b", Capacity: room(0)}}, machines, 3)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{fd.ReasonMachineUnhealthy, fd.ReasonNoCapacity}; !slices.Equal(reasons(plan), want) {
		t.Errorf("blocked: got %+v, want %v", plan.Blocked, want)
	}
	if message := plan.Blocked[1].Message; message != "no capacity for 1 more machines in: b" {
		t.Errorf("message: %q", message)
	}
}

// The capacity that a machine being deleted will free counts towards targets.
func TestBalanceCountsRoomOfDeletingMachines(t *testing.T) {
	t.Parallel()
	machines := machinesIn("a", "b")
	machines[0].Deleting = true
	plan, err := fd.Balance([]fd.Domain{{Name: "a", Capacity: room(0)}, {Name: "b"}}, machines, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"a": 1, "b": 1}; !maps.Equal(plan.Targets, want) {
		t.Errorf("targets: got %v, want %v", plan.Targets, want)
	}
}

func TestBlockedMessageNamesFew(t *testing.T) {
	t.Parallel()
	machines := machinesIn("a", "a", "a", "a", "a", "a", "a")
	for i := range machines {
		machines[i].Unhealthy = true
	}
	plan, err := fd.Balance(active("a"), machines, len(machines))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := plan.Blocked[0].Message, "unhealthy: m0, m1, m2, m3, m4 and 2 more"; got != want {
		t.Errorf("message: got %q, want %q", got, want)
	}
}

func TestInvalidDomains(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		domains []fd.Domain
		says    string
	}{
		"states disagree":         {[]fd.Domain{{Name: "rack-7"}, {Name: "rack-7", State: fd.Cordoned}}, "\"rack-7\" is listed twice"},
		"capacities disagree":     {[]fd.Domain{{Name: "rack-7", Capacity: room(1)}, {Name: "rack-7", Capacity: room(2)}}, "\"rack-7\" is listed twice"},
		"limit and no limit":      {[]fd.Domain{{Name: "rack-7", Capacity: room(1)}, {Name: "rack-7"}}, "\"rack-7\" is listed twice"},
		"unknown state":           {[]fd.Domain{{Name: "rack-7", State: "Draining"}}, "\"rack-7\": state \"Draining\""},
		"no name":                 {[]fd.Domain{{}}, "no name"},
		"third entry disagrees":   {[]fd.Domain{{Name: "rack-7"}, {Name: "rack-7"}, {Name: "rack-7", State: fd.Evicting}}, "\"rack-7\" is listed twice"},
		"also in another's midst": {append(active("a", "b"), fd.Domain{Name: "a", State: fd.Evicting}), "\"a\" is listed twice"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machines := machinesIn("rack-7")
			_, balance := fd.Balance(test.domains, machines, 1)
			_, pick := fd.Pick(test.domains, machines)
			_, victim := fd.Victim(test.domains, machines)
			_, bind := fd.Bind(test.domains, nil, "storage-0", false)
			for function, err := range map[string]error{"Balance": balance, "Pick": pick, "Victim": victim, "Bind": bind} {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s: got error %v, want one that contains %q", function, err, test.says)
				}
			}
		})
	}
}

func TestBalanceRefusesNegativeReplicas(t *testing.T) {
	t.Parallel()
	if _, err := fd.Balance(active("a"), nil, -1); err == nil || !strings.Contains(err.Error(), "-1 replicas") {
		t.Errorf("got error %v, want one that names the replicas", err)
	}
}
