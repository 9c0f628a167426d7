// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Outcome is the effect of a loss on one cluster.
type Outcome struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Lost lists the lost failure domains that the cluster lists or in which it has machines, by name.
	Lost []string `json:"lost"`
	// ControlPlane is the effect on the control plane.
	ControlPlane ControlPlaneOutcome `json:"controlPlane"`
	// WorkersLost is the number of lost workers, Workers the number of all.
	WorkersLost int `json:"workersLost"`
	Workers     int `json:"workers"`
	// Capacity is how many more machines the lost domains could have taken; nil if no limit is known.
	Capacity *int `json:"roomLost,omitempty"`
	// Replacements lists, for each lost machine, where its replacement could be placed.
	Replacements []Replacement `json:"replacements,omitempty"`
}

// ControlPlaneOutcome is the effect on a control plane, provided that each of its machines has one vote.
type ControlPlaneOutcome struct {
	// Members is the number of machines that have a vote now.
	Members int `json:"members"`
	// Lost is the number of members that would be lost.
	Lost int `json:"lost"`
	// Left is the number of members that would continue to work.
	Left int `json:"left"`
	// Unplaced is the number of machines in Left without a known failure domain: they may be in a lost one.
	Unplaced int `json:"unplaced,omitempty"`
	// Quorum is the number of members that must work.
	Quorum int `json:"quorum"`
	// KeepsQuorum is true if enough members continue to work, or if there are no control-plane machines.
	KeepsQuorum bool `json:"keepsQuorum"`
}

// Replacement is where the replacement of a lost machine could be placed.
type Replacement struct {
	Machine      string `json:"machine"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	From         string `json:"from"`
	// To is "" if there is no capacity, and then Why states the reason.
	To  string `json:"to,omitempty"`
	Why string `json:"why,omitempty"`
}

// UnknownDomainError is returned for a failure domain that no cluster has.
type UnknownDomainError struct {
	Name  string
	Known []string
}

func (e UnknownDomainError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("none of the clusters has failure domain %s, or any: see kubectl fd get -A", e.Name)
	}
	return fmt.Sprintf("none of the clusters has failure domain %s: choose one of %s", e.Name, strings.Join(e.Known, ", "))
}

// Lose returns the effect of losing failure domains on the clusters that list one of them or have machines in one. Clusters in a
// namespace with the same kind of infrastructure share capacity: what one machine uses is not available to the next. Control
// planes are placed first. It returns an UnknownDomainError if no cluster has one of the domains.
func Lose(clusters []Cluster, names []string) ([]Outcome, error) {
	if err := known(clusters, names); err != nil {
		return nil, err
	}
	lost := func(name string) bool { return slices.Contains(names, name) }
	var outcomes []Outcome
	var hit []Cluster
	for _, cluster := range clusters {
		if slices.ContainsFunc(cluster.AllDomainNames(), lost) {
			outcomes, hit = append(outcomes, lose(cluster, lost)), append(hit, cluster)
		}
	}
	taken := capacityUse{}
	for _, controlPlane := range []bool{true, false} {
		for i := range hit {
			outcomes[i].replace(hit[i], lost, controlPlane, taken)
		}
	}
	return outcomes, nil
}

// known returns an error if no cluster lists a domain with one of the names, or has machines in it.
func known(clusters []Cluster, names []string) error {
	var all []string
	for _, cluster := range clusters {
		all = append(all, cluster.AllDomainNames()...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for _, name := range names {
		if !slices.Contains(all, name) {
			return UnknownDomainError{Name: name, Known: all}
		}
	}
	return nil
}

func lose(c Cluster, lost func(string) bool) Outcome {
	o := Outcome{Namespace: c.Namespace, Name: c.Name}
	room, limited := 0, true
	for _, domain := range c.Domains {
		gone := lost(domain.Name)
		if gone {
			o.Lost = append(o.Lost, domain.Name)
		}
		switch {
		case !gone || !domain.Listed: // Machines are not placed in domains that are not listed.
		case domain.Capacity == nil:
			limited = false
		default:
			room += int(*domain.Capacity)
		}
		for _, machine := range domain.Machines {
			o.count(machine, domain.Name, gone)
		}
	}
	if limited {
		o.Capacity = &room
	}
	o.ControlPlane.Quorum = o.ControlPlane.Members/2 + 1
	if o.ControlPlane.Members == 0 {
		o.ControlPlane.Quorum = 0
	}
	o.ControlPlane.KeepsQuorum = o.ControlPlane.Left >= o.ControlPlane.Quorum
	return o
}

func (o *Outcome) count(machine Machine, domain string, gone bool) {
	if !machine.ControlPlane {
		o.Workers++
		if gone {
			o.WorkersLost++
		}
		return
	}
	if !machine.Votes() {
		return
	}
	o.ControlPlane.Members++
	switch {
	case gone:
		o.ControlPlane.Lost++
	case machine.Healthy:
		o.ControlPlane.Left++
		if domain == "" {
			o.ControlPlane.Unplaced++
		}
	}
}

// capacityUse counts the machines placed in domains, by the key of the shared capacity.
type capacityUse map[string]int

// capacityKey returns the key of shared capacity: that of a domain or, with suits, of the part that suits such machines.
func capacityKey(c Cluster, domain, suits string) string {
	return strings.Join([]string{c.Infrastructure.Kind, c.Namespace, domain, suits}, "/")
}

// take uses the capacity for one machine.
func (r capacityUse) take(c Cluster, domain, suits string) {
	r[capacityKey(c, domain, "")]++
	if suits != "" {
		r[capacityKey(c, domain, suits)]++
	}
}

// replace finds domains for the replacements of the lost machines of a role.
func (o *Outcome) replace(c Cluster, lost func(string) bool, controlPlane bool, taken capacityUse) {
	if !o.ControlPlane.KeepsQuorum {
		return
	}
	p := newPlacement(c, lost, controlPlane, taken)
	for _, domain := range c.Domains {
		for _, machine := range domain.Machines {
			if !lost(domain.Name) || machine.ControlPlane != controlPlane || machine.Deleting {
				continue
			}
			r := Replacement{Machine: machine.Name, ControlPlane: controlPlane, From: domain.Name}
			if r.Why = stays(c, machine); r.Why == "" {
				r.To, r.Why = p.find(machine)
			}
			o.Replacements = append(o.Replacements, r)
		}
	}
}

// stays returns why the replacement of a machine could not be in another domain; "" if it could.
func stays(c Cluster, machine Machine) string {
	switch {
	case machine.ControlPlane:
		return ""
	case machine.Named != "":
		return fmt.Sprintf("waits: its %s names %s", cmp.Or(deployment(machine), "owner"), machine.Named)
	case !c.Wanted.SpreadsWorkers():
		return "is placed by the infrastructure: no failure domain is named"
	case machine.Deployment == "":
		return "is placed by the infrastructure if its owner replaces it: it belongs to no MachineDeployment and is not spread"
	}
	return ""
}

func deployment(machine Machine) string {
	if machine.Deployment == "" {
		return ""
	}
	return "MachineDeployment " + machine.Deployment
}

// KeepQuorum reports whether all clusters keep their quorum.
func KeepQuorum(outcomes []Outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool { return !o.ControlPlane.KeepsQuorum })
}
