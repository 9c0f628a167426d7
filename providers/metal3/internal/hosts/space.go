// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// space is one namespace: machines take hosts of their own only.
type space struct {
	hosts map[string]*Host
	// free holds the names of hosts without an obstacle, sorted, by domain.
	free map[string][]string
	// held is the host that the Metal3Machine of that name has.
	held map[string]string
	// promised is the machine that is to claim the host of that name.
	promised map[string]types.NamespacedName
	// reused counts the hosts that carry a node-reuse label, by its value.
	reused map[string]int
	// tallies sum the hosts of a domain up.
	tallies map[string]tally
	// waiting are the machines that have asked and have not claimed a host since.
	waiting map[types.NamespacedName]*waiter
}

// waiter is a machine that has asked for a host.
type waiter struct {
	wants Wants
	// host is promised to it; "" while there is none.
	host string
}

func newSpace() *space {
	return &space{
		hosts: map[string]*Host{}, free: map[string][]string{}, held: map[string]string{},
		promised: map[string]types.NamespacedName{}, reused: map[string]int{}, waiting: map[types.NamespacedName]*waiter{},
		tallies: map[string]tally{},
	}
}

func (s *space) add(host Host) {
	host.Labels = maps.Clone(host.Labels) // the caller may go on to change the object they are from
	s.hosts[host.Name] = &host
	if host.Obstacle == "" {
		names := s.free[host.Domain]
		i, _ := slices.BinarySearch(names, host.Name)
		s.free[host.Domain] = slices.Insert(names, i, host.Name)
	}
	s.tallies[host.Domain] = s.tallies[host.Domain].with(host.Obstacle, 1)
	if host.Consumer.Name != "" && host.Consumer.Namespace == host.Namespace {
		s.held[host.Consumer.Name] = host.Name
	}
	if host.Reuse != "" {
		s.reused[host.Reuse]++
	}
}

func (s *space) remove(host *Host) {
	delete(s.hosts, host.Name)
	if i, found := slices.BinarySearch(s.free[host.Domain], host.Name); found {
		s.free[host.Domain] = slices.Delete(s.free[host.Domain], i, i+1)
	}
	s.tallies[host.Domain] = s.tallies[host.Domain].with(host.Obstacle, -1)
	if s.held[host.Consumer.Name] == host.Name {
		delete(s.held, host.Consumer.Name)
	}
	if host.Reuse != "" {
		s.reused[host.Reuse]--
	}
}

// promise chooses a host for the waiter and records it in place of the one before; it is "" when there is none. Reasons are
// counted only then: most machines get one, and need no look at the hosts that are not free.
func (s *space) promise(w *waiter) (string, Reasons) {
	if w.host != "" {
		delete(s.promised, w.host)
		w.host = ""
	}
	if s.reused[w.wants.Reuse] == 0 {
		w.host = s.best(w.wants)
	}
	var why Reasons
	if w.host == "" {
		var order []Host
		if order, why = Choose(s.everything(), w.wants); len(order) == 0 {
			return "", why
		}
		w.host = order[0].Name
	}
	s.promised[w.host] = w.wants.Machine
	return w.host, why
}

// best is what Choose would put first if no host were kept for reuse, found without looking at more hosts than needed.
func (s *space) best(wants Wants) string {
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

func (s *space) bestIn(domain string, wants Wants) *Host {
	var best *Host
	for _, name := range s.free[domain] {
		host := s.hosts[name]
		if _, taken := s.promised[name]; taken || wants.obstacle(host) != "" {
			continue
		}
		if best == nil || wants.compare(*host, *best) < 0 {
			best = host
		}
		if !wants.Random && wants.failed(best).IsZero() {
			break // they are sorted by name
		}
	}
	return best
}

// everything lists all hosts, those promised to other machines as such.
func (s *space) everything() []Host {
	list := make([]Host, 0, len(s.hosts))
	for name, known := range s.hosts {
		host := *known
		if _, taken := s.promised[name]; taken && host.Obstacle == "" {
			host.Obstacle = Promised
		}
		list = append(list, host)
	}
	return list
}

// queue lists the machines that wait and are promised nothing, those that came first in front.
func (s *space) queue() []*waiter {
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
