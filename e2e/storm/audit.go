// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/alone"
)

// Fault is something that is not as it must be.
type Fault struct {
	// Object is what it is about, and What is wrong with it.
	Object, What string
}

func (f Fault) String() string { return f.Object + ": " + f.What }

// member is a machine of the storm.
type member struct {
	name, domain string
	// deleting says that it was asked to go, gone that it has.
	deleting, gone bool
}

// judge finds what must not be at any moment while no manager runs.
func judge(members map[string]*member, s sight) []Fault {
	faults, of := slices.Clone(s.faults), map[string][]holding{}
	for _, h := range s.holdings {
		of[h.owner] = append(of[h.owner], h)
		faults = append(faults, judgeHolding(h, members[h.owner], s)...)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if m := members[name]; !m.gone {
			faults = append(faults, judgeMachine(m, of[name], s)...)
		}
	}
	return faults
}

// judgeHolding looks from outside: m is the machine that the outside system says it is for, if any.
func judgeHolding(h holding, m *member, s sight) []Fault {
	var faults []Fault
	fault := func(format string, args ...any) { faults = append(faults, Fault{h.name, fmt.Sprintf(format, args...)}) }
	if h.disorder != "" {
		fault("%s", h.disorder)
	}
	_, exists := s.machines[h.owner]
	switch {
	case m == nil:
		fault("belongs to nobody (owner %q)", h.owner)
	case !exists:
		fault("was left behind by machine %s, which has gone", h.owner)
	case h.domain != "" && h.domain != m.domain:
		fault("is in failure domain %s, machine %s asked for %s", h.domain, m.name, m.domain)
	}
	return faults
}

// judgeMachine looks from the object: held is what the outside system has for it.
func judgeMachine(m *member, held []holding, s sight) []Fault {
	var faults []Fault
	fault := func(format string, args ...any) {
		faults = append(faults, Fault{"machine " + m.name, fmt.Sprintf(format, args...)})
	}
	if len(held) > 1 {
		fault("is doubled: it has %s", names(held))
	}
	is, exists := s.machines[m.name]
	runs := slices.ContainsFunc(held, func(h holding) bool { return h.running && h.domain == m.domain })
	switch {
	case !exists && !m.deleting:
		fault("is lost: its object has gone although nobody deleted it")
	case is.ready && !m.deleting && !runs:
		fault("is ready without running in %s: it has %s", m.domain, names(held))
	}
	for _, what := range is.faults {
		fault("%s", what)
	}
	return faults
}

func names(held []holding) string {
	if len(held) == 0 {
		return "nothing"
	}
	texts := make([]string, 0, len(held))
	for _, h := range held {
		texts = append(texts, fmt.Sprintf("%s in %q", h.name, h.domain))
	}
	return strings.Join(texts, ", ")
}

// unsettled names the machines that still have something before them.
func unsettled(members map[string]*member, s sight) []Fault {
	var faults []Fault
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		is, exists := s.machines[name]
		switch {
		case m.deleting && exists:
			faults = append(faults, Fault{"machine " + name, "does not go" + alone.Explain(is.conditions)})
		case !m.deleting && exists && !is.ready:
			faults = append(faults, Fault{"machine " + name, "does not become ready" + alone.Explain(is.conditions)})
		}
	}
	return faults
}
