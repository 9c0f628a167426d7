// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"cmp"
	"slices"
	"time"

	"github.com/faultline-io/faultline/shared/failuredomain"
)

// Cluster is what is known of a cluster when its workers are spread.
type Cluster struct {
	// Domains are its failure domains. The capacity of each is how many more machines it can take than exist.
	Domains []failuredomain.Domain
	// Room is how many more machines that suit only some places, by what they ask for, each domain takes: no more than its capacity.
	Room map[string]map[string]int
	// Machines are all of its machines, those of its control plane too.
	Machines []Machine
	// Logical is the number of logical domains, 0 when machines are spread over the failure domains themselves.
	Logical int
	// Larger is what each failure domain is in, such as its region, where logical domains are kept apart by that; nil where they are by failure
	// domains. Of one that is in nothing that is known it cannot be told whether it is apart from another: with Required it takes no machine that
	// has a logical domain, else it counts as one by itself.
	Larger map[string]string
	// Required keeps two keys of a class out of one failure domain, or of one that is Larger, at all costs.
	Required bool
}

// Machine is a machine as far as spreading goes.
type Machine struct {
	Name string
	// Deployment is the MachineDeployment that it is spread with; "" for a machine that only takes room.
	Deployment string
	// Set is its MachineSet: a rollout replaces the machines of one MachineSet by those of another. "" where the machines of a
	// MachineDeployment are to count alike whatever their MachineSet.
	Set string
	// Class is what its logical domains are of.
	Class string
	// Domain is where it is, or belongs; "" if that is not decided, or not known.
	Domain string
	// Key is its logical domain; "" if it has none.
	Key string
	// Suits is what it asks of a place; "" when it suits wherever a domain has room, or is there already.
	Suits string
	// Named says that its domain is named by its Machine, so that it is not ours to change.
	Named bool
	// Exists says that something of it exists outside, or may.
	Exists              bool
	Deleting, Unhealthy bool
	// Rank is how early its MachineSet deletes it while no machine is marked: one of a higher rank goes before all of a lower one.
	Rank    Rank
	Created time.Time
}

// Rank is the order in which a MachineSet of Cluster API deletes machines that are not marked.
type Rank int

// The ranks of a MachineSet.
const (
	// RankWell is the rank of a machine that works.
	RankWell Rank = iota
	// RankUnwell is the rank of a machine that has not joined, or that is not healthy.
	RankUnwell
	// RankUpdating is the rank of a machine that is updated in place.
	RankUpdating
)

// waits reports whether the machine is to be given a domain.
func (m *Machine) waits() bool {
	return m.Deployment != "" && m.Domain == "" && !m.Exists && !m.Deleting
}

// pending reports whether the machine takes room of its domain that the domain's capacity does not show yet.
func (m *Machine) pending() bool { return m.Domain != "" && !m.Exists && !m.Deleting }

// group is what the machine is spread with: its MachineDeployment, or its class where there are logical domains; "" for nothing.
func (c Cluster) group(m *Machine) string {
	if c.Logical > 0 && m.Deployment != "" {
		return m.Class
	}
	return m.Deployment
}

func oldestFirst(a, b *Machine) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// byAge returns those of the machines that keep does not drop, the oldest first.
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
