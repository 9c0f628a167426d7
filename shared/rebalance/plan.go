// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"fmt"
	"slices"
	"strings"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/failuredomain"
)

// plan holds the moves that machines should make, whether or not a guard blocks them.
type plan struct {
	moves []failuredomain.Move
	// wrong lists why there is no plan, or why it is incomplete.
	wrong []Reason
}

// balanced reports whether no move is needed.
func (p plan) balanced() bool { return len(p.moves) == 0 && len(p.wrong) == 0 }

// makePlan plans from the placement of the machines that stay. Guards check that they are healthy and complete.
func (s *Snapshot) makePlan() plan {
	domains, machines := s.planned()
	result, err := failuredomain.Balance(domains, machines, len(machines))
	if err != nil {
		return plan{wrong: []Reason{{faultlinev1.ReasonFailureDomainIntentInvalid, err.Error()}}}
	}
	p := plan{moves: result.Moves}
	for _, blocked := range result.Blocked {
		p.wrong = append(p.wrong, Reason{faultlinev1.ReasonNoRoom, distribution.WithCapacityFix(blocked.Message)})
	}
	if len(p.wrong) == 0 && !slices.ContainsFunc(domains, func(d failuredomain.Domain) bool { return d.State == failuredomain.Active }) {
		p.wrong = append(p.wrong, Reason{faultlinev1.ReasonNoActiveFailureDomain,
			"no failure domain for control planes is Active: repair one, or set its state to Active in spec.distribution.failureDomains"})
	}
	return p
}

// planned returns the input of the planner. An Active domain that is not meant for control planes is omitted, so machines must
// leave it. The machine of a move no longer counts once its replacement exists.
func (s *Snapshot) planned() ([]failuredomain.Domain, []failuredomain.Machine) {
	domains := make([]failuredomain.Domain, 0, len(s.Domains))
	for i := range s.Domains {
		d := &s.Domains[i]
		if d.State != failuredomain.Active || d.ControlPlane {
			domains = append(domains, failuredomain.Domain{Name: d.Name, State: d.State, Capacity: d.Capacity})
		}
	}
	machines := make([]failuredomain.Machine, 0, len(s.Machines))
	for i := range s.Machines {
		m := &s.Machines[i]
		if leaves := m.Deleting || s.moving(m) && s.replaced(); !leaves {
			machines = append(machines, failuredomain.Machine{Name: m.Name, Domain: m.Domain(), Created: m.Created})
		}
	}
	return domains, machines
}

// candidate returns the machine to move: that of the recorded move, otherwise that of the first planned one.
func (v *view) candidate() *Machine {
	if v.Move != nil {
		return v.machineOfMove()
	}
	for i := range v.Machines {
		if len(v.plan.moves) > 0 && v.Machines[i].Name == v.plan.moves[0].Machine {
			return &v.Machines[i]
		}
	}
	return nil
}

// checkTarget checks the domains in which the control plane may create the replacement. The control plane chooses one with the
// fewest machines among those that the Cluster lists for control planes, regardless of capacity. Each domain that it may choose
// must be suitable.
func checkTarget(v *view) string {
	candidate := v.candidate()
	if candidate == nil || !v.exists() {
		return ""
	}
	picks := v.picks(candidate)
	if len(picks) == 0 {
		return fmt.Sprintf("Cluster %s lists no failure domain for control planes: wait until Cluster API has copied those of the infrastructure cluster", v.Cluster.Name)
	}
	var wrong []string
	for _, name := range picks {
		if why := v.unfit(candidate, name); why != "" {
			wrong = append(wrong, fmt.Sprintf("%s would create the replacement of Machine %s in failure domain %s, %s", v.ControlPlane.Name, candidate.Name, name, why))
		}
	}
	return strings.Join(wrong, "; ")
}

// unfit returns why the replacement of a machine cannot run in the domain; "" if it can.
func (v *view) unfit(candidate *Machine, name string) string {
	d := v.domain(name)
	switch {
	case d == nil || !d.ControlPlane:
		return "which is not for control planes any more: wait until Cluster API has copied the failure domains to the Cluster"
	case d.State != failuredomain.Active:
		return fmt.Sprintf("which is %s: set another one to Active", d.State)
	case !d.Healthy:
		return "which is not reported healthy: wait, or repair it"
	case d.Unsuited != "":
		return fmt.Sprintf("which does not suit it: %s: make it suitable, or cordon the failure domain", d.Unsuited)
	case d.Capacity != nil && *d.Capacity < 1:
		return "which has no capacity: add some, or cordon it"
	case !v.gains(candidate, name):
		return "which would not improve the balance: wait until Cluster API has copied the failure domains to the Cluster, or replace machines that are not in their requested failure domain"
	}
	return ""
}

// gains reports whether fewer moves are left if the machine is in the domain.
func (v *view) gains(candidate *Machine, name string) bool {
	domains, machines := v.planned()
	for i := range machines {
		if machines[i].Name == candidate.Name {
			machines[i].Domain = name
		}
	}
	for i := range domains {
		if capacity := domains[i].Capacity; capacity != nil && name != candidate.Domain() {
			left := *capacity
			switch domains[i].Name {
			case name:
				left--
			case candidate.Domain():
				left++
			}
			domains[i].Capacity = &left
		}
	}
	after, err := failuredomain.Balance(domains, machines, len(machines))
	return err == nil && len(after.Moves) < len(v.plan.moves)
}

// picks lists the domains that the control plane may choose for the replacement of a machine. It compares how many
// machines request a domain: first those that are up to date and stay, then all.
func (v *view) picks(candidate *Machine) []string {
	var picks []string
	var fewest domainLoad
	for i := range v.Domains {
		if !v.Domains[i].Listed {
			continue
		}
		name := v.Domains[i].Name
		switch c := v.loadOf(name, candidate); {
		case len(picks) == 0 || c.less(fewest):
			picks, fewest = []string{name}, c
		case c == fewest:
			picks = append(picks, name)
		}
	}
	return picks
}

// domainLoad counts the machines that request a domain.
type domainLoad struct{ remaining, all int }

func (c domainLoad) less(other domainLoad) bool {
	return c.remaining < other.remaining || c.remaining == other.remaining && c.all < other.all
}

func (v *view) loadOf(domain string, leaves *Machine) domainLoad {
	var c domainLoad
	for i := range v.Machines {
		if m := &v.Machines[i]; m.Requested == domain {
			c.all++
			if m.Name != leaves.Name && !m.Deleting && !m.Outdated {
				c.remaining++
			}
		}
	}
	return c
}
