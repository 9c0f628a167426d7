// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"cmp"
	"maps"
	"slices"

	"github.com/faultline-io/faultline/shared/failuredomain"
)

// maxMarks is the maximum number of marked machines of a MachineDeployment that is not too large.
const maxMarks = 10

// Marks returns the names of the machines of a MachineDeployment to mark, sorted by name, which is the order in which its
// MachineSet deletes them. However few of them are deleted, they are the right ones: each is in one of the domains with the most
// machines, or in one that must be emptied, once those before it are deleted. It returns as many as it can find, no more than most
// and no more than all machines but one. Machines that are already marked stay marked unless the alternative is at least twice as
// many.
//
// None is marked ahead while a machine is unhealthy, because the MachineSet deletes that one first by itself, but not before a
// marked one. None is marked ahead either if all machines are in one domain, because any of them may be deleted.
//
// If surplus machines must be deleted now and fewer are marked, the next ones to delete are marked as well, because all of them are
// deleted.
func Marks(c Cluster, deployment string, marked []string, most, surplus int) ([]string, error) {
	r := c.newDeletionOrder(deployment)
	if r.anyUnhealthy() || r.inOnePlace() {
		return r.toDelete(surplus)
	}
	most = min(most, len(r.own)-1)
	names, err := r.chain(most, nil)
	if err != nil {
		return nil, err
	}
	kept, err := r.chain(most, marked)
	if err != nil {
		return nil, err
	}
	if 2*len(kept) > len(names) {
		names = kept
	}
	r.remove(names...)
	others, err := r.toDelete(surplus - len(names))
	return append(names, others...), err
}

// toDelete returns up to n machines to delete. Each one harms the spread least after those before it. Unhealthy machines come before
// all others, ordered by rank. With logical domains, the machines of the whole class count, and only those of the MachineDeployment are
// returned.
func (r *deletionOrder) toDelete(n int) ([]string, error) {
	var names []string
	for len(names) < n {
		name, err := r.nextToDelete()
		if err != nil || name == "" {
			return names, err
		}
		r.remove(name)
		names = append(names, name)
	}
	return names, nil
}

// deletionOrder holds the machines that are spread together. Some machines of one MachineDeployment among them must be deleted.
type deletionOrder struct {
	domains  []failuredomain.Domain
	machines []failuredomain.Machine
	// own maps the names of machines that may be deleted to their ranks.
	own map[string]Rank
}

// newDeletionOrder returns the machines of the MachineDeployment and, with logical domains, those of the whole class, which count
// as well.
func (c Cluster) newDeletionOrder(deployment string) *deletionOrder {
	r, group := &deletionOrder{own: map[string]Rank{}}, deployment
	for i := range c.Machines {
		if m := &c.Machines[i]; m.Deployment == deployment && !m.Deleting {
			group = c.group(m)
			if !m.waits() {
				r.own[m.Name] = m.Rank
			}
		}
	}
	r.domains, r.machines = c.seen(group)
	return r
}

// remove removes machines.
func (r *deletionOrder) remove(names ...string) {
	r.machines = slices.DeleteFunc(slices.Clone(r.machines), func(m failuredomain.Machine) bool { return slices.Contains(names, m.Name) })
	r.own = maps.Clone(r.own)
	for _, name := range names {
		delete(r.own, name)
	}
}

// highest returns the rank of the machines that must be deleted before all others.
func (r *deletionOrder) highest() Rank {
	highest := RankHealthy
	for _, rank := range r.own {
		highest = max(highest, rank)
	}
	return highest
}

func (r *deletionOrder) anyUnhealthy() bool { return r.highest() > RankHealthy }

func (r *deletionOrder) inOnePlace() bool {
	places := map[string]bool{}
	for i := range r.machines {
		places[r.machines[i].Domain] = true
	}
	return len(places) == 1
}

// candidates returns the machines that may be deleted next, in groups of equal preference: those of the highest rank, from the
// domains that hold one of them.
func (r *deletionOrder) candidates() ([][]*failuredomain.Machine, error) {
	rank, held := r.highest(), map[string]bool{}
	isCandidate := func(name string) bool {
		own, ok := r.own[name]
		return ok && own == rank
	}
	for i := range r.machines {
		held[r.machines[i].Domain] = held[r.machines[i].Domain] || isCandidate(r.machines[i].Name)
	}
	there := slices.DeleteFunc(slices.Clone(r.machines), func(m failuredomain.Machine) bool { return !held[m.Domain] })
	groups, err := failuredomain.Candidates(r.domains, there)
	for i := range groups {
		groups[i] = slices.DeleteFunc(slices.Clone(groups[i]), func(m *failuredomain.Machine) bool { return !isCandidate(m.Name) })
	}
	return groups, err
}

// chain returns up to most machines, sorted by name. Each one may be deleted next once those before it are deleted. Preferred
// machines are taken where possible.
func (r *deletionOrder) chain(most int, preferred []string) ([]string, error) {
	left := *r
	var names []string
	for last := ""; len(names) < most; {
		groups, err := left.candidates()
		if err != nil {
			return nil, err
		}
		after := slices.DeleteFunc(slices.Concat(groups...), func(m *failuredomain.Machine) bool { return m.Name <= last })
		if len(after) == 0 {
			break
		}
		if kept := slices.DeleteFunc(slices.Clone(after), func(m *failuredomain.Machine) bool { return !slices.Contains(preferred, m.Name) }); len(kept) > 0 {
			after = kept
		}
		last = slices.MinFunc(after, func(a, b *failuredomain.Machine) int { return cmp.Compare(a.Name, b.Name) }).Name
		names = append(names, last)
		left.remove(last)
	}
	return names, nil
}

// nextToDelete returns the oldest machine that may be deleted next; "" if none exists.
func (r *deletionOrder) nextToDelete() (string, error) {
	groups, err := r.candidates()
	if err != nil || len(groups) == 0 || len(groups[0]) == 0 {
		return "", err
	}
	return slices.MinFunc(groups[0], func(a, b *failuredomain.Machine) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	}).Name, nil
}
