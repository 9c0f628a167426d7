// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/provider"
)

// member is a machine of the run.
type member struct {
	name, domain string
	// deleting is set when the machine's deletion was requested, gone when it has been deleted.
	deleting, gone bool
}

// checkMachines returns the faults that must never occur while no manager runs.
func checkMachines(members map[string]*member, s provider.Snapshot) []provider.Fault {
	faults, of := slices.Clone(s.Faults), map[string][]provider.Resource{}
	for _, h := range s.Resources {
		of[h.Owner] = append(of[h.Owner], h)
		faults = append(faults, checkResource(h, members[h.Owner], s)...)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if m := members[name]; !m.gone {
			faults = append(faults, checkMachine(m, of[name], s)...)
		}
	}
	return faults
}

// checkResource checks a resource of the outside system. m is the machine that it belongs to, if any.
func checkResource(h provider.Resource, m *member, s provider.Snapshot) []provider.Fault {
	var faults []provider.Fault
	fault := func(format string, args ...any) {
		faults = append(faults, provider.Fault{Object: h.Name, What: fmt.Sprintf(format, args...)})
	}
	if h.Inconsistency != "" {
		fault("%s", h.Inconsistency)
	}
	_, exists := s.Machines[h.Owner]
	switch {
	case m == nil:
		fault("has no existing machine as owner (owner %q)", h.Owner)
	case !exists:
		fault("was left behind by machine %s, which is deleted", h.Owner)
	case h.Domain != "" && h.Domain != m.domain:
		fault("is in failure domain %s, but machine %s requests %s", h.Domain, m.name, m.domain)
	}
	return faults
}

// checkMachine checks a machine. held are the resources that the outside system has for it.
func checkMachine(m *member, held []provider.Resource, s provider.Snapshot) []provider.Fault {
	var faults []provider.Fault
	fault := func(format string, args ...any) {
		faults = append(faults, provider.Fault{Object: "machine " + m.name, What: fmt.Sprintf(format, args...)})
	}
	if len(held) > 1 {
		fault("has more than one: %s", names(held))
	}
	is, exists := s.Machines[m.name]
	runs := slices.ContainsFunc(held, func(h provider.Resource) bool { return h.Running && h.Domain == m.domain })
	switch {
	case !exists && !m.deleting:
		fault("is lost: its object was removed without a delete request")
	case is.Ready && !m.deleting && !runs:
		fault("is ready but does not run in %s: it has %s", m.domain, names(held))
	}
	for _, what := range is.Faults {
		fault("%s", what)
	}
	return faults
}

func names(held []provider.Resource) string {
	if len(held) == 0 {
		return "nothing"
	}
	texts := make([]string, 0, len(held))
	for _, h := range held {
		texts = append(texts, fmt.Sprintf("%s in %q", h.Name, h.Domain))
	}
	return strings.Join(texts, ", ")
}

// unsettled returns the machines that still have work pending.
func unsettled(members map[string]*member, s provider.Snapshot) []provider.Fault {
	var faults []provider.Fault
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		is, exists := s.Machines[name]
		switch {
		case m.deleting && exists:
			faults = append(faults, provider.Fault{Object: "machine " + name, What: "is not deleted" + provider.Explain(is.Conditions)})
		case !m.deleting && exists && !is.Ready:
			faults = append(faults, provider.Fault{Object: "machine " + name, What: "does not become ready" + provider.Explain(is.Conditions)})
		}
	}
	return faults
}
