// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"cmp"
	"maps"
	"slices"

	"github.com/faultline-io/faultline/shared/failuredomain"
)

// ahead is how many machines of a MachineDeployment are marked at most while it is not too large.
const ahead = 10

// Marks names the machines of a MachineDeployment that are to be marked, in the order in which its MachineSet deletes them, which is
// that of their names. However few of them are deleted, they are the right ones: each is in one of the fullest places, or in one that must be
// emptied, when those before it are gone. They are as many as can be found, up to a number and all machines but one. Those that are marked stay so
// where the others are not twice as many.
//
// None is marked ahead while a machine is not well: the MachineSet deletes it first by itself, but not before one that is marked. Nor is one where
// all machines are in one place, so that any of them may go.
//
// When gone machines are too many now, and the marks are fewer, the next victims are marked as well: all of them are deleted.
func Marks(c Cluster, deployment string, marked []string, most, gone int) ([]string, error) {
	r := c.roster(deployment)
	if r.unwell() || r.inOnePlace() {
		return r.victims(gone)
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
	others, err := r.victims(gone - len(names))
	return append(names, others...), err
}

// Victims are as many machines of a MachineDeployment, each of which harms the spread the least when those before it are gone. Machines that are not
// well go before all others, in the order of their ranks. Where there are logical domains the machines of the whole class count, and some of the MachineDeployment's are chosen.
func Victims(c Cluster, deployment string, n int) ([]string, error) {
	return c.roster(deployment).victims(n)
}

func (r *roster) victims(n int) ([]string, error) {
	var names []string
	for len(names) < n {
		name, err := r.victim()
		if err != nil || name == "" {
			return names, err
		}
		r.remove(name)
		names = append(names, name)
	}
	return names, nil
}

// roster are the machines that are spread together, of which some of one MachineDeployment are to go.
type roster struct {
	domains  []failuredomain.Domain
	machines []failuredomain.Machine
	// own are those that may go, by name.
	own map[string]Rank
}

// roster has the machines of the MachineDeployment and, where there are logical domains, those of the whole class, which count too.
func (c Cluster) roster(deployment string) *roster {
	r, group := &roster{own: map[string]Rank{}}, deployment
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

// remove leaves machines out.
func (r *roster) remove(names ...string) {
	r.machines = slices.DeleteFunc(slices.Clone(r.machines), func(m failuredomain.Machine) bool { return slices.Contains(names, m.Name) })
	r.own = maps.Clone(r.own)
	for _, name := range names {
		delete(r.own, name)
	}
}

// highest is the rank of those that may go before all others.
func (r *roster) highest() Rank {
	highest := RankWell
	for _, rank := range r.own {
		highest = max(highest, rank)
	}
	return highest
}

func (r *roster) unwell() bool { return r.highest() > RankWell }

func (r *roster) inOnePlace() bool {
	places := map[string]bool{}
	for i := range r.machines {
		places[r.machines[i].Domain] = true
	}
	return len(places) == 1
}

// candidates are the machines that may go next, in groups of which each is as good: those of the highest rank, of the places that hold one of them.
func (r *roster) candidates() ([][]*failuredomain.Machine, error) {
	rank, held := r.highest(), map[string]bool{}
	goes := func(name string) bool {
		own, ok := r.own[name]
		return ok && own == rank
	}
	for i := range r.machines {
		held[r.machines[i].Domain] = held[r.machines[i].Domain] || goes(r.machines[i].Name)
	}
	there := slices.DeleteFunc(slices.Clone(r.machines), func(m failuredomain.Machine) bool { return !held[m.Domain] })
	groups, err := failuredomain.Candidates(r.domains, there)
	for i := range groups {
		groups[i] = slices.DeleteFunc(slices.Clone(groups[i]), func(m *failuredomain.Machine) bool { return !goes(m.Name) })
	}
	return groups, err
}

// chain are as many machines as can be found, up to a number, of which each may go next when those before it are gone, and comes after
// them by name. Those that are preferred are taken where they can be.
func (r *roster) chain(most int, preferred []string) ([]string, error) {
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

// victim is the oldest machine that may go next; "" when there is none.
func (r *roster) victim() (string, error) {
	groups, err := r.candidates()
	if err != nil || len(groups) == 0 || len(groups[0]) == 0 {
		return "", err
	}
	return slices.MinFunc(groups[0], func(a, b *failuredomain.Machine) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	}).Name, nil
}
