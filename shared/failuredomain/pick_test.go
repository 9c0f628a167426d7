// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"errors"
	"testing"

	fd "github.com/faultline-io/faultline/shared/failuredomain"
)

func TestPick(t *testing.T) {
	t.Parallel()
	deleting := machinesIn("a", "b")
	deleting[1].Deleting = true
	tests := map[string]struct {
		domains  []fd.Domain
		machines []fd.Machine
		want     string
		err      error
	}{
		"the fewest machines":           {domains: active("a", "b"), machines: machinesIn("a"), want: "b"},
		"by name when equal":            {domains: active("b", "a"), want: "a"},
		"deleting ones do not count":    {domains: active("a", "b"), machines: deleting, want: "b"},
		"unhealthy ones do":             {domains: active("a", "b"), machines: []fd.Machine{{Name: "m", Domain: "a", Unhealthy: true}}, want: "b"},
		"strays count nowhere":          {domains: active("a", "b"), machines: machinesIn("", "gone", "a"), want: "b"},
		"a cordoned domain is passed":   {domains: []fd.Domain{{Name: "a", State: fd.Cordoned}, {Name: "b"}}, machines: machinesIn("b"), want: "b"},
		"an evicting domain is passed":  {domains: []fd.Domain{{Name: "a", State: fd.Evicting}, {Name: "b"}}, machines: machinesIn("b"), want: "b"},
		"a full domain is passed":       {domains: []fd.Domain{{Name: "a", Capacity: room(0)}, {Name: "b"}}, machines: machinesIn("b"), want: "b"},
		"an overfull domain is passed":  {domains: []fd.Domain{{Name: "a", Capacity: room(-1)}, {Name: "b"}}, machines: machinesIn("b"), want: "b"},
		"little room is room":           {domains: []fd.Domain{{Name: "a", Capacity: room(1)}, {Name: "b"}}, machines: machinesIn("b"), want: "a"},
		"no domains":                    {err: fd.ErrNoDomain},
		"none active":                   {domains: []fd.Domain{{Name: "a", State: fd.Cordoned}}, err: fd.ErrNoDomain},
		"none with room":                {domains: []fd.Domain{{Name: "a", Capacity: room(0)}}, err: fd.ErrNoCapacity},
		"room only where not active":    {domains: []fd.Domain{{Name: "a", Capacity: room(0)}, {Name: "b", State: fd.Evicting}}, err: fd.ErrNoCapacity},
		"entries of one name are a one": {domains: active("a", "a", "b"), machines: machinesIn("a"), want: "b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fd.Pick(test.domains, test.machines)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %q, %v, want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

func TestVictim(t *testing.T) {
	t.Parallel()
	mark := func(machines []fd.Machine, change func(*fd.Machine), which ...int) []fd.Machine {
		for _, i := range which {
			change(&machines[i])
		}
		return machines
	}
	unhealthy := func(m *fd.Machine) { m.Unhealthy = true }
	deleting := func(m *fd.Machine) { m.Deleting = true }
	sameAge := func(m *fd.Machine) { m.Created = machinesIn("")[0].Created }
	domains := append(active("a", "b"), fd.Domain{Name: "c", State: fd.Cordoned}, fd.Domain{Name: "e", State: fd.Evicting})
	tests := map[string]struct {
		machines []fd.Machine
		want     string
		err      error
	}{
		"an unknown domain before an evicting one":  {machines: machinesIn("a", "a", "a", "e", "gone"), want: "m4"},
		"nowhere before an evicting one":            {machines: machinesIn("a", "a", "a", "e", ""), want: "m4"},
		"nowhere and unknown alike: the oldest":     {machines: machinesIn("a", "gone", ""), want: "m1"},
		"evicting before the fullest":               {machines: machinesIn("a", "a", "a", "e"), want: "m3"},
		"the fullest":                               {machines: machinesIn("a", "b", "b"), want: "m1"},
		"a cordoned domain counts":                  {machines: machinesIn("a", "c", "c"), want: "m1"},
		"equally full: by the domain's name":        {machines: machinesIn("b", "a"), want: "m1"},
		"within it the unhealthy":                   {machines: mark(machinesIn("a", "a", "b"), unhealthy, 1, 2), want: "m1"},
		"of the unhealthy the oldest":               {machines: mark(machinesIn("a", "a", "a"), unhealthy, 1, 2), want: "m1"},
		"of one age by name":                        {machines: mark(machinesIn("a", "a"), sameAge, 0, 1), want: "m0"},
		"unhealthy among strays":                    {machines: mark(machinesIn("", "gone"), unhealthy, 1), want: "m1"},
		"deleting ones are not chosen":              {machines: mark(machinesIn("gone", "a"), deleting, 0), want: "m1"},
		"deleting ones do not make a domain full":   {machines: mark(machinesIn("a", "a", "b", "b"), deleting, 0), want: "m2"},
		"none to choose":                            {err: fd.ErrNoMachine},
		"none but deleting ones":                    {machines: mark(machinesIn("a"), deleting, 0), err: fd.ErrNoMachine},
		"unhealthy elsewhere is not reason enough":  {machines: mark(machinesIn("a", "a", "b"), unhealthy, 2), want: "m0"},
		"unhealthy and evicting after a mere stray": {machines: mark(machinesIn("e", ""), unhealthy, 0), want: "m1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fd.Victim(domains, test.machines)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %q, %v, want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

func TestVictimWithoutDomains(t *testing.T) {
	t.Parallel()
	got, err := fd.Victim(nil, machinesIn("a", "b"))
	if got != "m0" || err != nil {
		t.Errorf("got %q, %v, want the oldest: every domain is unknown", got, err)
	}
}

func TestPickInRollout(t *testing.T) {
	t.Parallel()
	outdated := func(machines []fd.Machine, which ...int) []fd.Machine {
		for _, i := range which {
			machines[i].Outdated = true
		}
		return machines
	}
	for name, test := range map[string]struct {
		machines []fd.Machine
		want     string
	}{
		"outdated ones leave":               {outdated(machinesIn("a", "b", "b"), 1, 2), "b"},
		"equal without them: the fewest":    {outdated(machinesIn("a", "a", "b"), 0, 1, 2), "b"},
		"none is outdated":                  {machinesIn("a", "b", "b"), "a"},
		"a domain with no up-to-date ones":  {outdated(machinesIn("a", "b", "b", "b"), 1, 2, 3), "b"},
		"of up-to-date ones the fewest too": {outdated(machinesIn("a", "a", "b"), 2), "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := fd.Pick(active("a", "b"), test.machines); got != test.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}
