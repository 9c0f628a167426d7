// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline-io/faultline/shared/patch"
)

// Book knows every host, which are free, and which machine waits for one. It is safe for concurrent use, and does nothing
// slow while it is locked.
type Book struct {
	mu     sync.Mutex
	spaces map[string]*space
	wake   func(machine types.NamespacedName)
}

// NewBook returns an empty book. It calls wake, which must neither block nor call the book, with a machine that has waited
// and is promised a host now, or waits for another reason than before.
func NewBook(wake func(machine types.NamespacedName)) *Book {
	return &Book{spaces: map[string]*space{}, wake: wake}
}

// Ask gives the machine the host to claim. The host is promised to the machine until it is claimed, is seen to be no longer
// free, or the machine asks again or is forgotten. Without a host the machine is woken when there is one.
func (b *Book) Ask(wants Wants) (Host, Reasons, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.space(wants.Machine.Namespace)
	w := s.waiting[wants.Machine]
	if w == nil {
		w = &waiter{}
		s.waiting[wants.Machine] = w
	}
	former := w.host
	w.wants = wants
	chosen := s.promise(w)
	if former != chosen {
		b.offer(s, former)
	}
	if chosen == "" {
		// Only here are the hosts counted that are not free.
		_, why := Choose(s.everything(), wants)
		return Host{}, why, false
	}
	return *s.hosts[chosen], Reasons{}, true
}

// Forget ends the wait of a machine. What was promised to it goes to another.
func (b *Book) Forget(machine types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(b.space(machine.Namespace), machine)
}

// HeldBy names the hosts that have the machine as their consumer: one at most, unless somebody has interfered.
func (b *Book) HeldBy(machine types.NamespacedName) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.space(machine.Namespace).held[machine.Name])
}

// Put records a host as it is now. What is older than what is known is left out, unless that is known for longer than a
// watch lags: then etcd has been restored, and the older host is the one there is.
func (b *Book) Put(host Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.space(host.Namespace)
	known, ok := s.hosts[host.Name]
	if ok && patch.Stale(host.Version, known.Version, known.learnt) {
		return
	}
	host.learnt = time.Now()
	b.replace(s, known, host)
}

// Doubt withholds a host that the API server has refused to be as it is known here, until it is seen again.
func (b *Book) Doubt(host Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.space(host.Namespace)
	known, ok := s.hosts[host.Name]
	if !ok || known.Version != host.Version {
		return
	}
	host.Obstacle, host.learnt = NotReady, known.learnt
	b.replace(s, known, host)
}

// Drop records that a host is gone.
func (b *Book) Drop(host types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.space(host.Namespace)
	if known, ok := s.hosts[host.Name]; ok {
		before := s.tallies[known.Domain]
		b.tellHolder(s, known.Consumer)
		s.remove(known)
		b.breakPromise(s, host.Name)
		b.reconsider(s, known)
		b.tellNews(s, known.Domain, before)
	}
}

func (b *Book) space(namespace string) *space {
	s := b.spaces[namespace]
	if s == nil {
		s = newSpace()
		b.spaces[namespace] = s
	}
	return s
}

// replace puts a host in the place of what was known of it, which may be nil.
func (b *Book) replace(s *space, known *Host, host Host) {
	before := map[string]tally{host.Domain: s.tallies[host.Domain]}
	if known != nil {
		before[known.Domain] = s.tallies[known.Domain]
		b.tellHolder(s, known.Consumer)
		s.remove(known)
	}
	s.add(host)
	b.settle(s, host)
	if known != nil && !known.offersLike(host) {
		b.reconsider(s, known)
	}
	b.tellHolder(s, host.Consumer)
	for domain := range before {
		b.tellNews(s, domain, before[domain])
	}
}

// tellHolder wakes a machine that more than one host names, or has named until now.
func (b *Book) tellHolder(s *space, machine types.NamespacedName) {
	if len(s.held[machine.Name]) > 1 {
		b.wake(machine)
	}
}

// offersLike reports whether a host is the same as another to all that wait.
func (h *Host) offersLike(other Host) bool {
	return h.Obstacle == other.Obstacle && h.Reuse == other.Reuse && h.KeptFor == other.KeptFor && h.Domain == other.Domain &&
		maps.Equal(h.Labels, other.Labels)
}

// tellNews wakes the machines that wait in vain for another reason now: their domain has its first host or has lost its
// last, or its hosts are all broken or no longer. A host that only goes from one use to another wakes nobody.
func (b *Book) tellNews(s *space, domain string, before tally) {
	if s.tallies[domain].outlook() == before.outlook() {
		return
	}
	for machine, w := range s.waiting {
		if w.host == "" && w.wants.Domain == domain && !w.wants.Preferred {
			b.wake(machine)
		}
	}
}

// reconsider looks again for a host for the machines that have waited for one of their owner's to come back: it has, or may
// not do so any more.
func (b *Book) reconsider(s *space, was *Host) {
	if was.Reuse == "" || was.Obstacle != NotReady {
		return
	}
	for _, w := range s.queue() {
		if w.wants.Reuse != was.Reuse {
			continue
		}
		if s.promise(w) != "" {
			b.wake(w.wants.Machine)
		}
	}
}

// settle draws the conclusions from a host that has changed.
func (b *Book) settle(s *space, host Host) {
	if host.Consumer.Name != "" {
		if w := s.waiting[host.Consumer]; w != nil && w.host == host.Name {
			w.host = ""
			delete(s.promised, host.Name)
		}
		b.forget(s, host.Consumer)
	}
	if machine, ok := s.promised[host.Name]; ok {
		if order, _ := Choose([]Host{host}, s.waiting[machine].wants); len(order) > 0 {
			return
		}
		b.breakPromise(s, host.Name)
	}
	b.offer(s, host.Name)
}

func (b *Book) forget(s *space, machine types.NamespacedName) {
	w := s.waiting[machine]
	if w == nil {
		return
	}
	delete(s.waiting, machine)
	delete(s.promised, w.host)
	b.offer(s, w.host)
}

// breakPromise takes a host back that the machine cannot have any more, and looks for another for it.
func (b *Book) breakPromise(s *space, name string) {
	machine, ok := s.promised[name]
	if !ok {
		return
	}
	delete(s.promised, name)
	w := s.waiting[machine]
	w.host = ""
	if s.promise(w) != "" {
		b.wake(machine)
	}
}

// offer promises a free host to the machine that has waited longest for one like it. A machine that would rather have
// another gets that one, and the host is offered on.
func (b *Book) offer(s *space, name string) {
	host, ok := s.hosts[name]
	if !ok || host.Obstacle != "" {
		return
	}
	if _, taken := s.promised[name]; taken {
		return
	}
	for _, w := range s.queue() {
		if order, _ := Choose([]Host{*host}, w.wants); len(order) == 0 {
			continue
		}
		chosen := s.promise(w)
		if chosen != "" {
			b.wake(w.wants.Machine)
		}
		if chosen == name {
			return
		}
	}
}
