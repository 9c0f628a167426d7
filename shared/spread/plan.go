// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"slices"

	"github.com/faultline-io/faultline/shared/failuredomain"
)

// Plan returns the result of failuredomain.Balance for the machines of a group: a MachineDeployment or, with logical domains, a
// class. Machines in a failure domain that must be emptied must move, whatever their key is. Machines without a domain are
// omitted, because they do not count as replicas yet.
func Plan(c Cluster, group string, replicas int) (failuredomain.Plan, error) {
	domains, machines := c.seen(group)
	plan, err := failuredomain.Balance(domains, machines, replicas)
	if err != nil {
		return failuredomain.Plan{}, err
	}
	if c.Logical > 0 {
		for i, move := range plan.Moves {
			at := slices.IndexFunc(c.Machines, func(m Machine) bool { return m.Name == move.Machine })
			plan.Moves[i].From = c.Machines[at].Key
		}
	}
	return plan, nil
}

// Fits returns an error that explains why no failure domain could take a machine of the key in place of the named one; nil if one
// could.
func Fits(c Cluster, key, machine string) error {
	_, err := c.fit(key, machine)
	return err
}

// fit returns the failure domain that would take a machine of the key in place of the named one.
func (c Cluster) fit(key, machine string) (string, error) {
	domains, _ := c.remainingCapacity()
	others := slices.DeleteFunc(slices.Clone(c.Machines), func(m Machine) bool { return m.Name == machine })
	bound := byAge(others, func(m *Machine) bool { return m.Key != "" && m.Domain != "" })
	return c.bind(domains, bound, key, func(*Machine) bool { return false }) // nothing is moved during a rollout
}

// mayStay reports whether the machine is in a failure domain, and in a logical one, that need not be emptied.
func (c Cluster) mayStay(m *Machine) bool {
	named := func(name string) func(failuredomain.Domain) bool {
		return func(d failuredomain.Domain) bool { return d.Name == name && d.State != failuredomain.Evicting }
	}
	return slices.ContainsFunc(c.Domains, named(m.Domain)) && (c.Logical == 0 || slices.ContainsFunc(keys(m.Class, c.Logical), named(m.Key)))
}

// seen returns the domains and machines of a group in the form of the planner.
func (c Cluster) seen(group string) ([]failuredomain.Domain, []failuredomain.Machine) {
	domains, _ := c.remainingCapacity()
	stay := map[string]bool{}
	for _, domain := range domains {
		stay[domain.Name] = domain.State != failuredomain.Evicting
	}
	if c.Logical > 0 {
		domains = keys(group, c.Logical)
	}
	var machines []failuredomain.Machine
	for i := range c.Machines {
		m := &c.Machines[i]
		if m.Deployment == "" || c.group(m) != group || m.waits() {
			continue
		}
		at := m.Domain
		if c.Logical > 0 {
			at = ""
			if stay[m.Domain] {
				at = m.Key
			}
		}
		machines = append(machines, failuredomain.Machine{Name: m.Name, Domain: at, Deleting: m.Deleting, Unhealthy: m.Unhealthy, Created: m.Created})
	}
	return domains, machines
}
