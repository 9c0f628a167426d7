// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Changes describes the difference of two snapshots, one line per change.
func Changes(before, now Snapshot) []string {
	var list []string
	old := map[string]Domain{}
	for _, domain := range before.Domains {
		old[domain.Name] = domain
	}
	for _, domain := range now.Domains {
		if was := old[domain.Name]; was != domain && (was.State != domain.State || was.ControlPlane != domain.ControlPlane) {
			list = append(list, fmt.Sprintf("failure domain %s: %s", domain.Name, domain.Words()))
		}
	}
	machines := map[string]Machine{}
	for _, m := range before.Machines {
		machines[m.Name] = m
	}
	for _, m := range now.Machines {
		if was := machines[m.Name]; was.Words() != m.Words() {
			list = append(list, fmt.Sprintf("machine %s: %s", m.Name, m.Words()))
		}
		delete(machines, m.Name)
	}
	for _, m := range before.Machines {
		if _, gone := machines[m.Name]; gone {
			list = append(list, fmt.Sprintf("machine %s: deleted", m.Name))
		}
	}
	return list
}

// Words describes the state of a domain.
func (d Domain) Words() string {
	switch {
	case d.State == "":
		return "not published"
	case d.ControlPlane:
		return d.State
	}
	return strings.TrimSpace(d.State+", no control plane ") + because(d.Reason)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// Words describes the state and placement of a machine.
func (m Machine) Words() string {
	if m.Name == "" {
		return ""
	}
	words := m.State()
	if m.Role != "" {
		words = m.Role + ", " + words
	}
	switch {
	case m.Domain != "":
		words += ", in " + m.Domain
	case m.Asked != "":
		words += ", assigned to " + m.Asked
	}
	return words
}

// State returns the machine's phase, or a more specific state.
func (m Machine) State() string {
	switch {
	case m.Role == "":
		return "not known to Cluster API"
	case m.Deleting:
		return "Deleting"
	case m.Ready:
		return "Ready"
	case m.Phase == "":
		return "Pending"
	}
	return m.Phase
}

// PlacementTable shows the placement of the machines in the infrastructure, with one column per domain.
func PlacementTable(now Snapshot) []string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(name, role string, cell func(Domain) string) {
		_, _ = fmt.Fprintf(table, "  %s\t%s", name, role)
		for _, domain := range now.Domains {
			_, _ = fmt.Fprintf(table, "\t%s", cell(domain))
		}
		_, _ = fmt.Fprintln(table)
	}
	line("", "", func(d Domain) string { return d.Name })
	for _, m := range now.Machines {
		line(m.Name, m.Role, func(d Domain) string {
			if d.Name == m.Domain {
				return m.Host
			}
			return "."
		})
	}
	_ = table.Flush()
	return strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
}
