// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// namespace is one namespace: machines take hosts of their own only.
type namespace struct {
	hosts map[string]*Host
	// free holds the names of hosts without an obstacle, sorted, by domain.
	free map[string][]string
	// held are the hosts that name the Metal3Machine of that name as their consumer, sorted; it has one, unless somebody has
	// interfered.
	held map[string][]string
	// reserved is the machine that is to claim the host of that name.
	reserved map[string]types.NamespacedName
	// kept holds the names of hosts that carry a node-reuse label, by its value.
	kept map[string]map[string]bool
	// counts sum the hosts of a domain up.
	counts map[string]counts
	// waiting are the machines that have asked and have not claimed a host since.
	waiting map[types.NamespacedName]*waiter
}

// waiter is a machine that has asked for a host.
type waiter struct {
	wants Wants
	// host is reserved for it; "" while there is none.
	host string
}

func newNamespace() *namespace {
	return &namespace{
		hosts: map[string]*Host{}, free: map[string][]string{}, held: map[string][]string{},
		reserved: map[string]types.NamespacedName{}, kept: map[string]map[string]bool{}, waiting: map[types.NamespacedName]*waiter{},
		counts: map[string]counts{},
	}
}

func (s *namespace) add(host Host) {
	host.Labels = maps.Clone(host.Labels) // the caller may go on to change the object they are from
	s.hosts[host.Name] = &host
	if host.Obstacle == "" {
		s.free[host.Domain] = with(s.free[host.Domain], host.Name)
	}
	s.counts[host.Domain] = s.counts[host.Domain].with(host.Obstacle, 1)
	if host.Consumer.Name != "" && host.Consumer.Namespace == host.Namespace {
		s.held[host.Consumer.Name] = with(s.held[host.Consumer.Name], host.Name)
	}
	if host.Reuse != "" {
		if s.kept[host.Reuse] == nil {
			s.kept[host.Reuse] = map[string]bool{}
		}
		s.kept[host.Reuse][host.Name] = true
	}
}

// with adds a name to a sorted list.
func with(names []string, name string) []string {
	i, found := slices.BinarySearch(names, name)
	if found {
		return names
	}
	return slices.Insert(names, i, name)
}

// without removes a name from a sorted list.
func without(names []string, name string) []string {
	i, found := slices.BinarySearch(names, name)
	if !found {
		return names
	}
	return slices.Delete(names, i, i+1)
}

func (s *namespace) remove(host *Host) {
	delete(s.hosts, host.Name)
	if s.free[host.Domain] = without(s.free[host.Domain], host.Name); len(s.free[host.Domain]) == 0 {
		delete(s.free, host.Domain)
	}
	if s.counts[host.Domain] = s.counts[host.Domain].with(host.Obstacle, -1); s.counts[host.Domain] == (counts{}) {
		delete(s.counts, host.Domain)
	}
	if s.held[host.Consumer.Name] = without(s.held[host.Consumer.Name], host.Name); len(s.held[host.Consumer.Name]) == 0 {
		delete(s.held, host.Consumer.Name)
	}
	if delete(s.kept[host.Reuse], host.Name); len(s.kept[host.Reuse]) == 0 {
		delete(s.kept, host.Reuse)
	}
}

// reserve chooses a host for the waiter and records it in place of the one before; it is "" when there is none.
func (s *namespace) reserve(w *waiter) string {
	if w.host != "" {
		delete(s.reserved, w.host)
		w.host = ""
	}
	if !s.holdsOut(w.wants) {
		w.host = s.best(w.wants)
	}
	if w.host != "" {
		s.reserved[w.host] = w.wants.Machine
	}
	return w.host
}

// holdsOut reports whether a machine waits for a host of its owner's that is on its way back, as Choose has it.
func (s *namespace) holdsOut(wants Wants) bool {
	awaited := false
	for name := range s.kept[wants.Reuse] {
		host := s.hosts[name]
		_, taken := s.reserved[name]
		switch obstacle := wants.obstacle(host); {
		case !wants.mayBeIn(host), taken && obstacle == "":
		case obstacle == "" && wants.reuses(host):
			return false
		default:
			awaited = awaited || wants.awaits(host, obstacle)
		}
	}
	return awaited
}

// best is what Choose would put first, found without looking at more hosts than needed.
func (s *namespace) best(wants Wants) string {
	var best *Host
	if wants.Domain != "" {
		best = s.bestIn(wants.Domain, wants)
	}
	if best == nil && (wants.Domain == "" || wants.Preferred) {
		for domain := range s.free {
			if host := s.bestIn(domain, wants); host != nil && (best == nil || wants.compare(*host, *best) < 0) {
				best = host
			}
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}

func (s *namespace) bestIn(domain string, wants Wants) *Host {
	var best *Host
	for _, name := range s.free[domain] {
		host := s.hosts[name]
		if _, taken := s.reserved[name]; taken || wants.obstacle(host) != "" {
			continue
		}
		if best == nil || wants.compare(*host, *best) < 0 {
			best = host
		}
		if !wants.Random && wants.failed(best).IsZero() && len(s.kept[wants.Reuse]) == 0 {
			break // they are sorted by name
		}
	}
	return best
}

// everything lists all hosts, those reserved for other machines as such.
func (s *namespace) everything() []Host {
	list := make([]Host, 0, len(s.hosts))
	for name, known := range s.hosts {
		host := *known
		if _, taken := s.reserved[name]; taken && host.Obstacle == "" {
			host.Obstacle = Promised
		}
		list = append(list, host)
	}
	return list
}

// queue lists the machines that wait and are reserved nothing, those that came first in front.
func (s *namespace) queue() []*waiter {
	var list []*waiter
	for _, w := range s.waiting {
		if w.host == "" {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b *waiter) int {
		return cmp.Or(a.wants.Since.Compare(b.wants.Since), cmp.Compare(a.wants.Machine.Name, b.wants.Machine.Name))
	})
	return list
}
