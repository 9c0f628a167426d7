// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// namespace holds the hosts and machines of one namespace: machines use only hosts of their own namespace.
type namespace struct {
	hosts map[string]*Host
	// free holds the names of available hosts, sorted, by domain.
	free map[string][]string
	// held lists the hosts that name a Metal3Machine as their consumer, sorted, by its name. There is one, unless another actor
	// has edited hosts.
	held map[string][]string
	// reserved maps the name of a host to the machine that should claim it.
	reserved map[string]types.NamespacedName
	// kept holds the names of hosts that carry a node-reuse label, by its value.
	kept map[string]map[string]bool
	// counts holds the number of hosts of each domain.
	counts map[string]counts
	// waiting holds the machines that have asked for a host and have not claimed one since.
	waiting map[types.NamespacedName]*waiter
}

// waiter is a machine that has asked for a host.
type waiter struct {
	requirements Requirements
	// host is the host reserved for the machine, or "".
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
	host.Labels = maps.Clone(host.Labels) // the caller may modify the original object
	s.hosts[host.Name] = &host
	if host.Unavailability == "" {
		s.free[host.Domain] = with(s.free[host.Domain], host.Name)
	}
	s.counts[host.Domain] = s.counts[host.Domain].with(host.Unavailability, 1)
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
	if s.counts[host.Domain] = s.counts[host.Domain].with(host.Unavailability, -1); s.counts[host.Domain] == (counts{}) {
		delete(s.counts, host.Domain)
	}
	if s.held[host.Consumer.Name] = without(s.held[host.Consumer.Name], host.Name); len(s.held[host.Consumer.Name]) == 0 {
		delete(s.held, host.Consumer.Name)
	}
	if delete(s.kept[host.Reuse], host.Name); len(s.kept[host.Reuse]) == 0 {
		delete(s.kept, host.Reuse)
	}
}

// reserve chooses a host for the waiter and replaces its reservation; it returns "" without a suitable host.
func (s *namespace) reserve(w *waiter) string {
	if w.host != "" {
		delete(s.reserved, w.host)
		w.host = ""
	}
	if !s.waitsForReuse(w.requirements) {
		w.host = s.best(w.requirements)
	}
	if w.host != "" {
		s.reserved[w.host] = w.requirements.Machine
	}
	return w.host
}

// waitsForReuse reports whether the machine waits for a host kept for its owner to become available again, as in Choose.
func (s *namespace) waitsForReuse(requirements Requirements) bool {
	awaited := false
	for name := range s.kept[requirements.Reuse] {
		host := s.hosts[name]
		_, taken := s.reserved[name]
		switch unavailability := requirements.unavailability(host); {
		case !requirements.allowsDomainOf(host), taken && unavailability == "":
		case unavailability == "" && requirements.reuses(host):
			return false
		default:
			awaited = awaited || requirements.awaits(host, unavailability)
		}
	}
	return awaited
}

// best returns the host that Choose would return first, without visiting more hosts than needed.
func (s *namespace) best(requirements Requirements) string {
	var best *Host
	if requirements.Domain != "" {
		best = s.bestIn(requirements.Domain, requirements)
	}
	if best == nil && (requirements.Domain == "" || requirements.Preferred) {
		for domain := range s.free {
			if host := s.bestIn(domain, requirements); host != nil && (best == nil || requirements.compare(*host, *best) < 0) {
				best = host
			}
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}

func (s *namespace) bestIn(domain string, requirements Requirements) *Host {
	var best *Host
	for _, name := range s.free[domain] {
		host := s.hosts[name]
		if _, taken := s.reserved[name]; taken || requirements.unavailability(host) != "" {
			continue
		}
		if best == nil || requirements.compare(*host, *best) < 0 {
			best = host
		}
		if !requirements.Random && requirements.failed(best).IsZero() && len(s.kept[requirements.Reuse]) == 0 {
			break // hosts are sorted by name
		}
	}
	return best
}

// all returns all hosts; those reserved for other machines are unavailable as Promised.
func (s *namespace) all() []Host {
	list := make([]Host, 0, len(s.hosts))
	for name, known := range s.hosts {
		host := *known
		if _, taken := s.reserved[name]; taken && host.Unavailability == "" {
			host.Unavailability = Promised
		}
		list = append(list, host)
	}
	return list
}

// queue returns the waiting machines without a reservation, oldest first.
func (s *namespace) queue() []*waiter {
	var list []*waiter
	for _, w := range s.waiting {
		if w.host == "" {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b *waiter) int {
		return cmp.Or(a.requirements.Since.Compare(b.requirements.Since), cmp.Compare(a.requirements.Machine.Name, b.requirements.Machine.Name))
	})
	return list
}
