// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"cmp"
	"sync"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// The pause after a failure doubles from Reconciler.RetryAfter to longestPause times that: a datastore that is full stays so
// for longer than a minute, and all its machines try again. vCenter being busy passes sooner.
const (
	longestPause     = 15
	shortestBusyPart = 16
)

// failures remembers what went wrong with each object, in a row. A restart forgets it, after which the pauses are short again.
type failures struct {
	mu    sync.Mutex
	known map[client.ObjectKey]failure
}

type failure struct {
	server string
	doing  operation
	busy   bool // vCenter was, so that nothing is wrong with the object
	times  int
	in     situation
}

// situation is what an attempt depends on, as far as the inventory shows it. In another one it need not be put off.
type situation struct {
	generation       int64
	inventory        int // how often the objects around the virtual machine have changed
	found, connected bool
	power            vcenter.PowerState
	nameTaken        bool
}

// add returns how often it has failed like this.
func (f *failures) add(key client.ObjectKey, now failure) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	now.times = 1
	if before := f.known[key]; before.doing == now.doing && before.busy == now.busy && before.in == now.in {
		now.times += before.times
	}
	if f.known == nil {
		f.known = map[client.ObjectKey]failure{}
	}
	f.known[key] = now
	return now.times
}

func (f *failures) last(key client.ObjectKey) (failure, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, ok := f.known[key]
	return last, ok
}

// on lists the objects of a vCenter that something went wrong with.
func (f *failures) on(server string) []ctrl.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var requests []ctrl.Request
	for key, last := range f.known {
		if infrav1.SameServer(last.server, server) {
			requests = append(requests, ctrl.Request{NamespacedName: key})
		}
	}
	return requests
}

func (f *failures) forget(key client.ObjectKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, key)
}

// again reports a failure and puts the next attempt off.
func (r *Reconciler) again(s *scope, reason, message string) reconcile.Progress {
	r.fail(s, reason, message)
	pause := r.putOff(s, false)
	s.vm.Status.RetryAfter.Time = r.Clock.Now().Add(pause)
	return reconcile.Retry(pause)
}

// putOff remembers a failure and returns the pause after it.
func (r *Reconciler) putOff(s *scope, busy bool) time.Duration {
	times := r.failures.add(client.ObjectKeyFromObject(s.vm), failure{
		server: s.vm.Spec.Server, doing: s.doing, busy: busy, in: s.situation(),
	})
	if busy {
		return doubled(r.RetryAfter/shortestBusyPart, times, r.RetryAfter)
	}
	return doubled(r.RetryAfter, times, longestPause*r.RetryAfter)
}

// busy tries again soon what vCenter had no time for. No event tells when it has.
func (r *Reconciler) busy(s *scope, err error) reconcile.Progress {
	if !conditions.IsTrue(s.vm, infrav1.VSphereVMVirtualMachineProvisionedCondition) && !r.failing(s, s.doing) {
		reason := conditions.GetReason(s.vm, infrav1.VSphereVMVirtualMachineProvisionedCondition)
		setProvisioned(s.vm, cmp.Or(reason, infrav1.VSphereVMVirtualMachineNotProvisionedReason), err.Error())
	}
	return reconcile.Retry(r.putOff(s, true))
}

func doubled(first time.Duration, times int, most time.Duration) time.Duration {
	for ; times > 1 && first < most; times-- {
		first *= 2
	}
	return min(first, most)
}

// pausing returns what is left of the pause after a failure. It ends early when the specification or the inventory around
// the virtual machine has changed, and with the deletion of what no failure is remembered of.
func (r *Reconciler) pausing(s *scope) time.Duration {
	if s.vm.Status.RetryAfter.IsZero() {
		return 0
	}
	last, known := r.failures.last(client.ObjectKeyFromObject(s.vm))
	same := last.in == s.situation() || !known && s.vm.DeletionTimestamp.IsZero()
	if left := s.vm.Status.RetryAfter.Sub(r.Clock.Now()); left > 0 && same {
		return left
	}
	s.vm.Status.RetryAfter.Reset()
	return 0
}

// failing reports whether the last attempt at what the object needs now went wrong.
func (r *Reconciler) failing(s *scope, doing operation) bool {
	last, known := r.failures.last(client.ObjectKeyFromObject(s.vm))
	return known && !last.busy && last.doing == doing && last.in.generation == s.vm.Generation
}

// underWay reports a step that passes by itself. After a failure, that is what stays to be read until the step has worked:
// a reason that came and went with every attempt would be news each time.
func (r *Reconciler) underWay(s *scope, doing operation, reason, message string) {
	if s.doing = doing; !r.failing(s, doing) {
		setProvisioned(s.vm, reason, message)
	}
}

func (s *scope) situation() situation {
	now := situation{generation: s.vm.Generation, found: s.found, connected: s.observed.Connected(), power: s.observed.Power}
	if s.session == nil {
		return now
	}
	if s.found {
		now.inventory = s.session.Changes(s.observed.ClusterRef)
	} else if at, err := s.session.Resolve(virtualmachine.PlacementOf(s.vm)); err == nil {
		_, now.nameTaken = s.session.VMInFolder(at.FolderRef, s.vm.Name)
		now.inventory = s.session.Changes(append(networkRefs(at), at.ClusterRef, at.PoolRef, at.FolderRef, at.DatastoreRef)...)
	}
	return now
}

func networkRefs(at vcenter.Resolved) []string {
	refs := make([]string, len(at.Networks))
	for i := range at.Networks {
		refs[i] = at.Networks[i].Ref
	}
	return refs
}
