// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"cmp"
	"slices"
	"time"

	"github.com/faultline-io/faultline/shared/failuredomain"
)

// Cluster holds the state of a cluster from which its workers are spread.
type Cluster struct {
	// Domains lists its failure domains. The capacity of each is how many more machines than the existing ones it can take.
	Domains []failuredomain.Domain
	// Capacity maps the requirements of machines that do not suit every host to the number of such machines that each domain can
	// still take, which is at most its capacity.
	Capacity map[string]map[string]int
	// Machines lists all of its machines, including those of its control plane.
	Machines []Machine
	// Logical is the number of logical domains, 0 if machines are spread over the failure domains themselves.
	Logical int
	// Parent maps each failure domain to an enclosing domain, such as its region, if logical domains are separated by that; it is
	// nil if they are separated by failure domain. A failure domain without an entry may not be separate from another one: with
	// Required it takes no machine of a logical domain, otherwise it counts as an enclosing domain of its own.
	Parent map[string]string
	// Required never places two keys of a class in one failure domain, or in one enclosing domain.
	Required bool
}

// Machine is the state of a machine that is relevant for spreading.
type Machine struct {
	Name string
	// Deployment is the MachineDeployment with which it is spread; "" for a machine that only uses capacity.
	Deployment string
	// Set is its MachineSet: a rollout replaces the machines of one MachineSet by those of another. It is "" if the machines of a
	// MachineDeployment should count alike.
	Set string
	// Class is the class of its logical domains.
	Class string
	// Domain is the domain in which it is, or to which it is assigned; "" if that is undecided or unknown.
	Domain string
	// Key is its logical domain; "" if it has none.
	Key string
	// Suits is a key for its requirements; "" if it suits every host, or exists already.
	Suits string
	// Named is true if its Machine names the domain, so that the domain must not be changed.
	Named bool
	// Exists is true if the infrastructure has, or may have, something of it.
	Exists              bool
	Deleting, Unhealthy bool
	// Rank is the order in which its MachineSet deletes unmarked machines: those of a higher rank are deleted first.
	Rank    Rank
	Created time.Time
}

// Rank is the order in which Cluster API's MachineSet controller deletes machines that are not marked.
type Rank int

// The ranks of the MachineSet controller.
const (
	// RankHealthy is the rank of a machine that works.
	RankHealthy Rank = iota
	// RankUnhealthy is the rank of a machine that has not joined or is unhealthy.
	RankUnhealthy
	// RankUpdating is the rank of a machine that is being updated in place.
	RankUpdating
)

// waits reports whether the machine must be assigned a domain.
func (m *Machine) waits() bool {
	return m.Deployment != "" && m.Domain == "" && !m.Exists && !m.Deleting
}

// pending reports whether the machine uses capacity of its domain that the domain's capacity does not reflect yet.
func (m *Machine) pending() bool { return m.Domain != "" && !m.Exists && !m.Deleting }

// group returns the group in which the machine is spread: its MachineDeployment, or its class if there are logical domains; "" if
// it is not spread.
func (c Cluster) group(m *Machine) string {
	if c.Logical > 0 && m.Deployment != "" {
		return m.Class
	}
	return m.Deployment
}

func oldestFirst(a, b *Machine) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// byAge returns the machines for which keep returns true, the oldest first.
func byAge(machines []Machine, keep func(*Machine) bool) []*Machine {
	var kept []*Machine
	for i := range machines {
		if keep(&machines[i]) {
			kept = append(kept, &machines[i])
		}
	}
	slices.SortFunc(kept, oldestFirst)
	return kept
}
