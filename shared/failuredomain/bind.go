// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bind chooses the physical domain for a machine of logical domain key, given the physical domains and the current bindings.
//
// A key has the form <class>-<index> with a numeric index; keys of any other form belong to one common class. A physical domain
// should hold at most one key of a class; keys of different classes are independent. Only Active domains with capacity are
// considered. Among these, Bind prefers
//
//  1. a domain that holds this key and no other of its class: the one with the most machines of the key, so that they use as few
//     domains as possible;
//  2. a domain that holds no key of the class: a new one, or a second one for a key whose domain is full, cordoned or being emptied.
//     The one with the fewest bound machines of any class;
//  3. unless required, a domain that holds another key of the class. Again the one with the fewest bound machines of any class.
//
// Ties are broken by name. Bindings to domains that are not listed are ignored.
//
// The error wraps ErrNoDomain if no domain is Active, and ErrNoCapacity if no domain that the key may use has capacity. It wraps
// both if only other keys keep the key out, because required forbids sharing: no domain is available to the key, and one will be
// once another key leaves it.
func Bind(physical []Domain, bound []Binding, key string, required bool) (string, error) {
	return BindInRollout(physical, bound, nil, key, required)
}

// BindInRollout is Bind during a rollout. Outdated machines, which the rollout will delete, occupy their domains like all others.
// Where numbers of machines decide, the current ones are compared first, then all.
func BindInRollout(physical []Domain, current, outdated []Binding, key string, required bool) (string, error) {
	if key == "" {
		return "", errors.New("binding a machine: it has no logical domain")
	}
	l, err := listDomains(physical)
	if err != nil {
		return "", fmt.Errorf("binding a machine of %s: %w", key, err)
	}
	loads := make(loads, len(l.domains))
	l.load(loads, outdated, key, 0)
	l.load(loads, current, key, 1)
	open, err := l.open()
	if err != nil {
		return "", fmt.Errorf("binding a machine of %s: %w", key, err)
	}
	own, free, shared := sortOut(open, loads)
	switch {
	case len(own) > 0:
		return slices.MinFunc(own, loads.mostOwnFirst).name, nil
	case len(free) > 0:
		return slices.MinFunc(free, loads.leastFirst).name, nil
	case !required:
		return slices.MinFunc(shared, loads.leastFirst).name, nil
	default:
		return "", fmt.Errorf("binding a machine of %s: %w", key, l.refusal(loads))
	}
}

// load counts the machines bound to one physical domain, from the view of a key.
type load struct {
	own   int // machines of the key
	other int // machines of other keys of its class
	all   int // machines of any class

	ownUpToDate, allUpToDate int // the same without outdated machines
}

// loads maps physical domains by name to their loads.
type loads map[string]load

// load adds bindings to loads; each counts as upToDate up-to-date machines, 0 or 1.
func (l *layout) load(loads loads, bound []Binding, key string, upToDate int) {
	for _, binding := range bound {
		if l.listed[binding.Physical] == nil {
			continue
		}
		at := loads[binding.Physical]
		at.all++
		at.allUpToDate += upToDate
		switch {
		case binding.Key == key:
			at.own++
			at.ownUpToDate += upToDate
		case binding.Key != "" && class(binding.Key) == class(key):
			at.other++
		}
		loads[binding.Physical] = at
	}
}

// sortOut splits places into those that hold only the key, those that hold no key of its class, and those that hold another.
func sortOut(places []*domainState, loads loads) (own, free, shared []*domainState) {
	for _, p := range places {
		switch at := loads[p.name]; {
		case at.other > 0:
			shared = append(shared, p)
		case at.own > 0:
			own = append(own, p)
		default:
			free = append(free, p)
		}
	}
	return own, free, shared
}

// refusal returns why a key has no domain although one has capacity.
func (l *layout) refusal(loads loads) error {
	own, free, _ := sortOut(l.in(Active), loads)
	if full := len(own) + len(free); full > 0 {
		return fmt.Errorf("%w: %d allowed ones are full, the others have other keys", ErrNoCapacity, full)
	}
	return fmt.Errorf("%w for it and %w: each has another key", ErrNoDomain, ErrNoCapacity)
}

func (l loads) mostOwnFirst(a, b *domainState) int {
	return cmp.Or(cmp.Compare(l[b.name].ownUpToDate, l[a.name].ownUpToDate), cmp.Compare(l[b.name].own, l[a.name].own), byName(a, b))
}

func (l loads) leastFirst(a, b *domainState) int {
	return cmp.Or(cmp.Compare(l[a.name].allUpToDate, l[b.name].allUpToDate), cmp.Compare(l[a.name].all, l[b.name].all), byName(a, b))
}

// class returns the class of a key: <class> of <class>-<index>, otherwise "".
func class(key string) string {
	at := strings.LastIndexByte(key, '-')
	if at < 0 {
		return ""
	}
	if _, err := strconv.ParseUint(key[at+1:], 10, 64); err != nil {
		return ""
	}
	return key[:at]
}
