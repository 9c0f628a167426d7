// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// layout holds the machines grouped by place.
type layout struct {
	domains []*domainState          // the listed domains, by name
	listed  map[string]*domainState // the same, as a map
	strays  []*domainState          // no domain and unlisted domains, by name
}

// domainState is a domain, listed or not, with its machines.
type domainState struct {
	name     string
	state    State      // "" if not listed
	room     int        // how many more machines fit; unlimited if there is no limit
	machines []*Machine // owned by the caller: must not be modified
	deleting int        // number of further machines in it that are being deleted
}

// unlimited is the room of a domain without a known limit.
const unlimited = math.MaxInt

// layOut groups machines by the listed domains, or returns an error if the domains are invalid.
func layOut(domains []Domain, machines []Machine) (*layout, error) {
	l, err := listDomains(domains)
	if err != nil {
		return nil, err
	}
	strays := map[string]*domainState{}
	for i := range machines {
		machine := &machines[i]
		at := l.listed[machine.Domain]
		if at == nil {
			at = strays[machine.Domain]
		}
		if at == nil {
			at = &domainState{name: machine.Domain}
			strays[machine.Domain] = at
			l.strays = append(l.strays, at)
		}
		if machine.Deleting {
			at.deleting++
			continue
		}
		at.machines = append(at.machines, machine)
	}
	slices.SortFunc(l.strays, byName)
	return l, nil
}

func listDomains(domains []Domain) (*layout, error) {
	l := &layout{listed: make(map[string]*domainState, len(domains))}
	for _, domain := range domains {
		listed, err := newDomainState(domain)
		if err != nil {
			return nil, err
		}
		if known := l.listed[domain.Name]; known != nil {
			if known.state != listed.state || known.room != listed.room {
				return nil, fmt.Errorf("failure domain %q is listed twice, with different states or capacities", domain.Name)
			}
			continue
		}
		l.listed[domain.Name] = listed
		l.domains = append(l.domains, listed)
	}
	slices.SortFunc(l.domains, byName)
	return l, nil
}

func newDomainState(domain Domain) (*domainState, error) {
	p := &domainState{name: domain.Name, state: cmp.Or(domain.State, Active), room: unlimited}
	if domain.Name == "" {
		return nil, fmt.Errorf("failure domain in state %s has no name", p.state)
	}
	if p.state != Active && p.state != Cordoned && p.state != Evicting {
		return nil, fmt.Errorf("failure domain %q: state %q must be %s, %s or %s", p.name, p.state, Active, Cordoned, Evicting)
	}
	if domain.Capacity != nil {
		p.room = max(0, *domain.Capacity)
	}
	return p, nil
}

// in returns the listed domains with a state, by name.
func (l *layout) in(state State) []*domainState {
	var places []*domainState
	for _, p := range l.domains {
		if p.state == state {
			places = append(places, p)
		}
	}
	return places
}

// leaving returns the places that must be emptied, in order: no domain, unknown domains and Evicting domains, each by name. One
// is emptied before the next, so that it can be switched off as soon as possible.
func (l *layout) leaving() []*domainState {
	return slices.Concat(l.strays, l.in(Evicting))
}

// bound returns the maximum number of machines that the place can hold in the end. Machines that are being deleted count, because
// their capacity becomes available.
func (p *domainState) bound() int {
	held := len(p.machines) + p.deleting
	if p.room > unlimited-held {
		return unlimited
	}
	return held + p.room
}

func byName(a, b *domainState) int { return cmp.Compare(a.name, b.name) }

// fullestFirst orders places by descending number of machines, then by name.
func fullestFirst(a, b *domainState) int {
	return cmp.Or(cmp.Compare(len(b.machines), len(a.machines)), byName(a, b))
}

// oldestFirst orders machines by age, then by name.
func oldestFirst(a, b *Machine) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c // without comparing names: a large plan spends its time here
	}
	return cmp.Compare(a.Name, b.Name)
}

// byAge returns the machines sorted, the oldest first.
func byAge(machines []*Machine) []*Machine {
	sorted := slices.Clone(machines)
	slices.SortFunc(sorted, oldestFirst)
	return sorted
}

// sum returns the sum of f over places.
func sum(places []*domainState, f func(*domainState) int) int {
	total := 0
	for _, p := range places {
		total += f(p)
	}
	return total
}

func held(p *domainState) int { return len(p.machines) }
