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

// Inventory holds all hosts, which of them are free, and the machines that wait for one. It is safe for concurrent use, and never
// blocks while it is locked.
type Inventory struct {
	mu         sync.Mutex
	namespaces map[string]*namespace
	enqueue    func(machine types.NamespacedName)
}

// NewInventory returns an empty inventory. It calls enqueue with a waiting machine when a host has been reserved for it or when
// the reason for waiting has changed, and with a machine that several hosts name as their consumer when one of them changes.
// enqueue must neither block nor call the inventory.
func NewInventory(enqueue func(machine types.NamespacedName)) *Inventory {
	return &Inventory{namespaces: map[string]*namespace{}, enqueue: enqueue}
}

// Reserve returns the host that the machine should claim. The host stays reserved for the machine until it is claimed, is no
// longer free, or the machine asks again or is forgotten. Without a suitable host, enqueue is called for the machine as soon as
// one is available.
func (inv *Inventory) Reserve(requirements Requirements) (Host, Reasons, bool) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	s := inv.namespace(requirements.Machine.Namespace)
	w := s.waiting[requirements.Machine]
	if w == nil {
		w = &waiter{}
		s.waiting[requirements.Machine] = w
	}
	former := w.host
	w.requirements = requirements
	chosen := s.reserve(w)
	if former != chosen {
		inv.offer(s, former)
	}
	if chosen == "" {
		// Hosts that are not free are counted only here.
		_, why := Choose(s.all(), requirements)
		return Host{}, why, false
	}
	return *s.hosts[chosen], Reasons{}, true
}

// Forget removes a machine from the waiting machines and offers its reserved host to another.
func (inv *Inventory) Forget(machine types.NamespacedName) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	defer inv.deleteIfEmpty(machine.Namespace)
	inv.forget(inv.namespace(machine.Namespace), machine)
}

// HeldBy returns the names of the hosts that have the machine as their consumer: at most one, unless another actor has edited
// hosts.
func (inv *Inventory) HeldBy(machine types.NamespacedName) []string {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	defer inv.deleteIfEmpty(machine.Namespace)
	return slices.Clone(inv.namespace(machine.Namespace).held[machine.Name])
}

// Upsert records a host. An older version than the recorded one is ignored, unless the recorded one is older than the maximum lag
// of a watch: then etcd has been restored, and the older version is current.
func (inv *Inventory) Upsert(host Host) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	s := inv.namespace(host.Namespace)
	known, ok := s.hosts[host.Name]
	if ok && patch.Stale(host.Version, known.Version, known.recordedAt) {
		return
	}
	host.recordedAt = time.Now()
	inv.replace(s, known, host)
}

// Invalidate withholds a host until it is observed again, after the API server has rejected a write to the recorded version.
func (inv *Inventory) Invalidate(host Host) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	defer inv.deleteIfEmpty(host.Namespace)
	s := inv.namespace(host.Namespace)
	known, ok := s.hosts[host.Name]
	if !ok || known.Version != host.Version {
		return
	}
	host.Unavailability, host.recordedAt = NotReady, known.recordedAt
	inv.replace(s, known, host)
}

// Delete removes a deleted host.
func (inv *Inventory) Delete(host types.NamespacedName) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	defer inv.deleteIfEmpty(host.Namespace)
	s := inv.namespace(host.Namespace)
	if known, ok := s.hosts[host.Name]; ok {
		before := s.counts[known.Domain]
		inv.enqueueHolder(s, known.Consumer)
		s.remove(known)
		inv.cancelReservation(s, host.Name)
		inv.retryWaitingForReuse(s, known)
		inv.enqueueWaiting(s, known.Domain, before)
	}
}

func (inv *Inventory) namespace(namespace string) *namespace {
	s := inv.namespaces[namespace]
	if s == nil {
		s = newNamespace()
		inv.namespaces[namespace] = s
	}
	return s
}

// deleteIfEmpty deletes a namespace without hosts and waiting machines.
func (inv *Inventory) deleteIfEmpty(namespace string) {
	if s := inv.namespaces[namespace]; s != nil && len(s.hosts) == 0 && len(s.waiting) == 0 {
		delete(inv.namespaces, namespace)
	}
}

// replace replaces the recorded host, which may be nil.
func (inv *Inventory) replace(s *namespace, known *Host, host Host) {
	before := map[string]counts{host.Domain: s.counts[host.Domain]}
	if known != nil {
		before[known.Domain] = s.counts[known.Domain]
		inv.enqueueHolder(s, known.Consumer)
		s.remove(known)
	}
	s.add(host)
	inv.updateReservations(s, host)
	if known != nil && !known.isEquivalentTo(host) {
		inv.retryWaitingForReuse(s, known)
	}
	inv.enqueueHolder(s, host.Consumer)
	for domain := range before {
		inv.enqueueWaiting(s, domain, before[domain])
	}
}

// enqueueHolder enqueues a machine that more than one host names, or named until now.
func (inv *Inventory) enqueueHolder(s *namespace, machine types.NamespacedName) {
	if len(s.held[machine.Name]) > 1 {
		inv.enqueue(machine)
	}
}

// isEquivalentTo reports whether the host is equivalent to another for all waiting machines.
func (h *Host) isEquivalentTo(other Host) bool {
	return h.Unavailability == other.Unavailability && h.Reuse == other.Reuse && h.KeptFor == other.KeptFor && h.Domain == other.Domain &&
		maps.Equal(h.Labels, other.Labels)
}

// enqueueWaiting enqueues waiting machines whose reason for waiting has changed: their domain has its first host or has lost its
// last, or all its hosts have become broken or no longer are. A host that only changes from one use to another enqueues no
// machine.
func (inv *Inventory) enqueueWaiting(s *namespace, domain string, before counts) {
	if s.counts[domain].reason() == before.reason() {
		return
	}
	for machine, w := range s.waiting {
		if w.host == "" && w.requirements.Domain == domain && !w.requirements.Preferred {
			inv.enqueue(machine)
		}
	}
}

// retryWaitingForReuse retries the machines that wait for a host kept for their owner, when such a host has become available or
// no longer will.
func (inv *Inventory) retryWaitingForReuse(s *namespace, was *Host) {
	if was.Reuse == "" || was.Unavailability != NotReady {
		return
	}
	for _, w := range s.queue() {
		if w.requirements.Reuse != was.Reuse {
			continue
		}
		if s.reserve(w) != "" {
			inv.enqueue(w.requirements.Machine)
		}
	}
}

// updateReservations updates reservations and waiting machines after a host has changed.
func (inv *Inventory) updateReservations(s *namespace, host Host) {
	if host.Consumer.Name != "" {
		if w := s.waiting[host.Consumer]; w != nil && w.host == host.Name {
			w.host = ""
			delete(s.reserved, host.Name)
		}
		inv.forget(s, host.Consumer)
	}
	if machine, ok := s.reserved[host.Name]; ok {
		if order, _ := Choose([]Host{host}, s.waiting[machine].requirements); len(order) > 0 {
			return
		}
		inv.cancelReservation(s, host.Name)
	}
	inv.offer(s, host.Name)
}

func (inv *Inventory) forget(s *namespace, machine types.NamespacedName) {
	w := s.waiting[machine]
	if w == nil {
		return
	}
	delete(s.waiting, machine)
	delete(s.reserved, w.host)
	inv.offer(s, w.host)
}

// cancelReservation takes a host away from a machine that can no longer claim it, and reserves another one if possible.
func (inv *Inventory) cancelReservation(s *namespace, name string) {
	machine, ok := s.reserved[name]
	if !ok {
		return
	}
	delete(s.reserved, name)
	w := s.waiting[machine]
	w.host = ""
	if s.reserve(w) != "" {
		inv.enqueue(machine)
	}
}

// offer reserves a free host for the machine that has waited longest for a host like it. If that machine prefers another host, it
// gets that one, and the host is offered to the next machine.
func (inv *Inventory) offer(s *namespace, name string) {
	host, ok := s.hosts[name]
	if !ok || host.Unavailability != "" {
		return
	}
	if _, taken := s.reserved[name]; taken {
		return
	}
	for _, w := range s.queue() {
		if order, _ := Choose([]Host{*host}, w.requirements); len(order) == 0 {
			continue
		}
		chosen := s.reserve(w)
		if chosen != "" {
			inv.enqueue(w.requirements.Machine)
		}
		if chosen == name {
			return
		}
	}
}
