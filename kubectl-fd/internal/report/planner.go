// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/failuredomain"
)

// Planner returns the cluster's failure domains in the form of the planner. Those for control planes omit the Active ones that
// are not published for them.
func (c Cluster) Planner(controlPlane bool) []failuredomain.Domain {
	var domains []failuredomain.Domain
	for _, domain := range c.Domains {
		if !domain.Listed {
			continue
		}
		state := c.effective(domain)
		if controlPlane && state == faultlinev1.DomainActive && !domain.ControlPlane {
			continue
		}
		planned := failuredomain.Domain{Name: domain.Name, State: failuredomain.State(state)}
		if domain.Capacity != nil {
			room := int(*domain.Capacity)
			planned.Capacity = &room
		}
		domains = append(domains, planned)
	}
	return domains
}

// effective returns the state that applies to new machines: a withdrawal in the spec takes effect before the status reports it.
func (c Cluster) effective(d Domain) faultlinev1.DomainState {
	if c.Wanted.Intent(d.Name) == faultlinev1.DomainEvicting {
		return faultlinev1.DomainEvicting
	}
	known := faultlinev1.DistributionStatus{FailureDomains: []faultlinev1.DomainStatus{{Name: d.Name, State: d.State}}}
	state, _ := distribution.Receives(c.Wanted, known, d.Name, distribution.PendingRefuses)
	return state
}

// Machines returns the machines for which keep returns true, in the form of the planner.
func (c Cluster) Machines(keep func(Machine) bool) []failuredomain.Machine {
	var machines []failuredomain.Machine
	for _, domain := range c.Domains {
		for _, machine := range domain.Machines {
			if keep(machine) {
				machines = append(machines, failuredomain.Machine{
					Name: machine.Name, Domain: domain.Name, Deleting: machine.Deleting, Created: machine.Created.Time,
					Unhealthy: machine.State == Unhealthy,
				})
			}
		}
	}
	return machines
}

// OfControlPlane reports whether the machine is a control-plane machine.
func OfControlPlane(m Machine) bool { return m.ControlPlane }

// OfDeployment returns a filter for the machines of a MachineDeployment.
func OfDeployment(name string) func(Machine) bool {
	return func(m Machine) bool { return !m.ControlPlane && m.Deployment == name }
}
