// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Outcome is what would become of one cluster.
type Outcome struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Lost are the lost failure domains that the cluster lists or has machines in, by name.
	Lost []string `json:"lost"`
	// ControlPlane is what becomes of the control plane.
	ControlPlane ControlPlaneOutcome `json:"controlPlane"`
	// WorkersLost of Workers are lost.
	WorkersLost int `json:"workersLost"`
	Workers     int `json:"workers"`
	// Room is how many more machines the lost domains could have taken; nil when no limit is known.
	Room *int `json:"roomLost,omitempty"`
	// Replacements says of each lost machine where another could be put.
	Replacements []Replacement `json:"replacements,omitempty"`
}

// ControlPlaneOutcome is what would become of a control plane, if each of its machines has one vote.
type ControlPlaneOutcome struct {
	// Members are the machines that have a vote now.
	Members int `json:"members"`
	// Lost are those of them that would be lost.
	Lost int `json:"lost"`
	// Left are the machines that would go on working.
	Left int `json:"left"`
	// Unplaced are those of Left of which no failure domain is known: they may be in a lost one.
	Unplaced int `json:"unplaced,omitempty"`
	// Quorum is how many have to work.
	Quorum int `json:"quorum"`
	// KeepsQuorum says whether enough go on working. It is true where there are no control-plane machines.
	KeepsQuorum bool `json:"keepsQuorum"`
}

// Replacement is where a machine that takes the place of a lost one could be put.
type Replacement struct {
	Machine      string `json:"machine"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	From         string `json:"from"`
	// To is "" where there is no place, and then Why says why.
	To  string `json:"to,omitempty"`
	Why string `json:"why,omitempty"`
}

// UnknownDomainError says that a domain is to be lost that no cluster has.
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

// Lose says what the loss of failure domains would do to the clusters that list one of them or have machines in one. Room is shared by the clusters of a
// namespace whose infrastructure is of one kind: what a machine takes is gone for the next. Control planes come first.
func Lose(clusters []Cluster, names []string) ([]Outcome, error) {
	if err := known(clusters, names); err != nil {
		return nil, err
	}
	lost := func(name string) bool { return slices.Contains(names, name) }
	var outcomes []Outcome
	var hit []Cluster
	for _, cluster := range clusters {
		if slices.ContainsFunc(cluster.Places(), lost) {
			outcomes, hit = append(outcomes, lose(cluster, lost)), append(hit, cluster)
		}
	}
	taken := rooms{}
	for _, controlPlane := range []bool{true, false} {
		for i := range hit {
			outcomes[i].replace(hit[i], lost, controlPlane, taken)
		}
	}
	return outcomes, nil
}

// known returns an error if no cluster lists a domain of one of the names, or has machines in it.
func known(clusters []Cluster, names []string) error {
	var all []string
	for _, cluster := range clusters {
		all = append(all, cluster.Places()...)
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
		case !gone || !domain.Listed: // One that is not listed takes no machines.
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
		o.Room = &room
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

// rooms counts the machines that have been put into domains, by who shares them.
type rooms map[string]int

// room names what is shared: the room of a domain, or with suits that part of it which suits such machines.
func room(c Cluster, domain, suits string) string {
	return strings.Join([]string{c.Infrastructure.Kind, c.Namespace, domain, suits}, "/")
}

// take takes room for one machine.
func (r rooms) take(c Cluster, domain, suits string) {
	r[room(c, domain, "")]++
	if suits != "" {
		r[room(c, domain, suits)]++
	}
}

// replace looks for places for the lost machines of a role.
func (o *Outcome) replace(c Cluster, lost func(string) bool, controlPlane bool, taken rooms) {
	if !o.ControlPlane.KeepsQuorum {
		return
	}
	p := newPlaces(c, lost, controlPlane, taken)
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

// stays says why a machine that takes the place of this one could not go elsewhere; "" when it could.
func stays(c Cluster, machine Machine) string {
	switch {
	case machine.ControlPlane:
		return ""
	case machine.Named != "":
		return fmt.Sprintf("waits: its %s names %s", cmp.Or(deployment(machine), "owner"), machine.Named)
	case !c.Wanted.SpreadsWorkers():
		return "goes where the infrastructure puts it: nothing names a failure domain"
	case machine.Deployment == "":
		return "goes where the infrastructure puts it, if anybody makes another: it is of no MachineDeployment, and so not spread"
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
