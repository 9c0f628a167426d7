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
	faults := slices.Clone(s.faults)
	fault := func(object, format string, args ...any) {
		faults = append(faults, Fault{object, fmt.Sprintf(format, args...)})
	}
	of := map[string][]holding{}
	for _, h := range s.holdings {
		if h.disorder != "" {
			fault(h.name, "%s", h.disorder)
		}
		m := members[h.owner]
		_, exists := s.machines[h.owner]
		switch {
		case m == nil:
			fault(h.name, "belongs to nobody (owner %q)", h.owner)
			continue
		case !exists:
			fault(h.name, "was left behind by machine %s, which has gone", h.owner)
		case h.domain != "" && h.domain != m.domain:
			fault(h.name, "is in failure domain %s, machine %s asked for %s", h.domain, m.name, m.domain)
		}
		of[h.owner] = append(of[h.owner], h)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		if m.gone {
			continue
		}
		if held := of[name]; len(held) > 1 {
			fault("machine "+name, "is doubled: it has %s", names(held))
		}
		is, exists := s.machines[name]
		if !exists {
			if !m.deleting {
				fault("machine "+name, "is lost: its object has gone although nobody deleted it")
			}
			continue
		}
		if is.ready && !m.deleting && !slices.ContainsFunc(of[name], func(h holding) bool { return h.running && h.domain == m.domain }) {
			fault("machine "+name, "is ready without running in %s: it has %s", m.domain, names(of[name]))
		}
		for _, what := range is.faults {
			fault("machine "+name, "%s", what)
		}
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
